"""Spark's master, workers and drivers on a side."""

import pytest

from infra.config import EnvironmentName, RunSettings, load_environment
from shared.runtime.settings import SideSettings, SparkSettings
from tests.synth.workloads.manifests import (
    CHAIN,
    WORKLOADS,
    Manifest,
    command,
    container,
    environment,
    named,
    of_kind,
    pod,
    pod_labels,
    selects,
    wanted,
    workloads,
)
from tests.synth.workloads.test_scaling import spark_settings


@pytest.mark.parametrize("node", CHAIN)
def test_one_driver_a_node_with_its_own_address_and_executors(manifests: list[Manifest], node: str) -> None:
    driver = named(manifests, "Deployment", f"{node}-driver")
    assert driver["spec"]["replicas"] == 1
    assert driver["spec"]["strategy"] == {"type": "Recreate"}
    assert command(driver)[-1] == f"pipelines.data.{node}"
    ready = environment(driver)["HIFI_READY_FILE"]
    assert container(driver)["readinessProbe"]["exec"]["command"] == ["test", "-f", ready]
    submitted = environment(driver)["PYSPARK_SUBMIT_ARGS"].split()
    assert "spark.driver.host=$(POD_IP)" in submitted, "the master drops a driver of another one's address"
    assert f"spark.executor.resource.{node}.amount=1" in submitted
    assert submitted[-1] == "pyspark-shell"
    variables = {each["name"]: each for each in container(driver)["env"]}
    assert variables["POD_IP"]["valueFrom"] == {"fieldRef": {"fieldPath": "status.podIP"}}
    names = list(variables)
    assert names.index("POD_IP") < names.index("PYSPARK_SUBMIT_ARGS"), "Kubernetes expands what is before it"
    services = of_kind(manifests, "Service")
    assert not [
        each for each in services if selects({"matchLabels": each["spec"]["selector"]}, pod_labels(driver))
    ]


def test_master_workers_and_drivers_call_the_master_the_same(manifests: list[Manifest]) -> None:
    words = command(named(manifests, "StatefulSet", "spark-master"))
    url = f"spark://{words[words.index('--host') + 1]}:{words[words.index('--port') + 1]}"
    assert command(named(manifests, "Deployment", "spark-worker"))[-1] == url
    for node in CHAIN:
        assert environment(named(manifests, "Deployment", f"{node}-driver"))["HIFI_MASTER"] == url


def test_the_master_notices_within_a_minute_that_a_driver_is_gone_with_its_node(
    manifests: list[Manifest],
) -> None:
    """Until then it holds its executors' places, and the next driver gets none."""
    master = pod(named(manifests, "StatefulSet", "spark-master"))
    kernel = {each["name"]: int(each["value"]) for each in master["securityContext"]["sysctls"]}
    # From Kubernetes 1.29 on, the only such sysctls that every kubelet and the profile `restricted` allow.
    prefix = "net.ipv4.tcp_keepalive_"
    assert set(kernel) == {f"{prefix}time", f"{prefix}intvl", f"{prefix}probes"}
    assert kernel[f"{prefix}time"] + kernel[f"{prefix}intvl"] * kernel[f"{prefix}probes"] <= 60
    assert spark_settings(manifests)["spark.rpc.io.enableTcpKeepAlive"] == "true"
    versions = [load_environment(RunSettings(environment=name)).cluster.version for name in EnvironmentName]
    assert all(int(each.partition(".")[2]) >= 29 for each in versions)


def test_a_master_has_records_of_its_own_version_and_is_ready_once_it_leads(
    manifests: list[Manifest],
) -> None:
    master = named(manifests, "StatefulSet", "spark-master")
    (state,) = [each["mountPath"] for each in container(master)["volumeMounts"] if each["name"] == "state"]
    assert command(master)[:2] == ["/opt/hifi/bin/start-master", state]
    assert "spark.deploy.recoveryDirectory" not in spark_settings(manifests), "the script names it"
    (port,) = [each["containerPort"] for each in container(master)["ports"] if each["name"] == "ui"]
    words = command(master)
    assert words[words.index("--webui-port") + 1] == str(port)
    asked = container(master)["readinessProbe"]
    assert asked["exec"]["command"] == ["/opt/hifi/bin/master-is-alive", str(port)]
    assert asked["timeoutSeconds"] > 1, "a JVM on a busy node answers"
    image = (WORKLOADS / "images" / "spark.Dockerfile").read_text()
    for name in ("start-master", "master-is-alive"):
        assert f"COPY infra/workloads/images/{name}.sh /opt/hifi/bin/{name}\n" in image


def test_everything_of_spark_shares_a_secret_that_no_manifest_holds(manifests: list[Manifest]) -> None:
    assert not of_kind(manifests, "Secret")
    spark = [each for each in workloads(manifests) if pod(each)["serviceAccountName"] == "spark"]
    assert len(spark) == 2 + len(CHAIN)
    for each in spark:
        (secret,) = [one for one in container(each)["env"] if one["name"] == "_SPARK_AUTH_SECRET"]
        assert secret["valueFrom"]["secretKeyRef"] == {"name": "spark-auth", "key": "secret"}


def test_every_process_finds_what_its_settings_want(manifests: list[Manifest]) -> None:
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    assert side["HIFI_CHECKPOINTS"].startswith("s3a://")
    assert wanted(SideSettings) <= side.keys()
    in_image = {"HIFI_JARS"}
    for node in CHAIN:
        driver = named(manifests, "Deployment", f"{node}-driver")
        assert wanted(SparkSettings) <= side.keys() | environment(driver).keys() | in_image
