"""Each pod's user, node, resources, probes and shutdown."""

import importlib.util
import re
from ipaddress import ip_address, ip_network

import pytest

from infra.components.kubernetes.cluster import SERVICE_RANGE
from infra.config import EnvironmentName, RunSettings, load_environment
from infra.naming import Side
from pipelines.control.backends.aws.workloads import READABILITY
from pipelines.control.canary.settings import CanarySettings
from pipelines.control.readability.answer import MODULE
from pipelines.control.readability.settings import ReadabilitySettings
from pipelines.data.collect.settings import CollectSettings
from shared.contracts.topics import Topic, TopicSpec
from shared.runtime.settings import SideSettings, SparkSettings
from tests.synth.workloads.manifests import (
    CHAIN,
    LASTING,
    METER,
    WITH_PODS,
    WORKLOADS,
    Manifest,
    command,
    container,
    containers,
    environment,
    label,
    named,
    of_kind,
    pod,
    pod_labels,
    seconds_before_kill,
    selects,
    wanted,
)
from tests.synth.workloads.test_scaling import spark_settings

SPOT_NOTICE_SECONDS = 120
STARTED = re.compile(r"-m (\S+)")


def workloads(manifests: list[Manifest]) -> list[Manifest]:
    return of_kind(manifests, *WITH_PODS)


def test_all_of_a_side_is_there(manifests: list[Manifest]) -> None:
    assert {label(each) for each in workloads(manifests)} == {
        "Job/topics",
        "CronJob/readability",
        "Deployment/collect",
        "Deployment/retry",
        "Deployment/provision",
        "Deployment/api",
        *(f"Deployment/{name}" for name in METER),
        "StatefulSet/spark-master",
        "Deployment/spark-worker",
        *(f"Deployment/{node}-driver" for node in CHAIN),
    }
    assert {each["metadata"]["namespace"] for each in manifests} == {"hifi"}


def test_every_module_that_is_started_exists(manifests: list[Manifest]) -> None:
    started = {
        found[1] for each in workloads(manifests) if (found := STARTED.search(" ".join(command(each))))
    }
    assert started == {
        "pipelines.data.collect",
        "pipelines.data.retry",
        "pipelines.control.provision",
        "pipelines.management.api",
        MODULE,
        *(f"pipelines.data.{node}" for node in CHAIN),
        *METER.values(),
    }
    for module in started:
        assert importlib.util.find_spec(f"{module}.__main__"), module


def test_selectors_take_their_own_pods_and_no_others(manifests: list[Manifest]) -> None:
    for each in of_kind(manifests, *LASTING):
        taken = [
            label(other)
            for other in workloads(manifests)
            if selects(each["spec"]["selector"], pod_labels(other))
        ]
        assert taken == [label(each)]
    for service in of_kind(manifests, "Service"):
        selector = {"matchLabels": service["spec"]["selector"]}
        assert sum(selects(selector, pod_labels(each)) for each in workloads(manifests)) == 1, label(service)


def test_nothing_runs_as_root_or_writes_to_its_image(manifests: list[Manifest]) -> None:
    for each in workloads(manifests):
        security = pod(each)["securityContext"]
        assert security["runAsNonRoot"] is True
        assert security["runAsUser"] >= 10_000
        assert security["seccompProfile"] == {"type": "RuntimeDefault"}
        for one in containers(each):
            assert one["securityContext"] == {
                "allowPrivilegeEscalation": False,
                "readOnlyRootFilesystem": True,
                "capabilities": {"drop": ["ALL"]},
            }
            mounts = {mount["mountPath"] for mount in one["volumeMounts"]}
            assert "/tmp" in mounts
        assert all(
            volume.get("emptyDir", {"sizeLimit": 1}).get("sizeLimit") for volume in pod(each)["volumes"]
        )
        assert not {"hostNetwork", "hostPID", "hostIPC"} & pod(each).keys()


def test_nobody_has_a_token_for_the_kubernetes_api(manifests: list[Manifest]) -> None:
    accounts = {each["metadata"]["name"] for each in of_kind(manifests, "ServiceAccount")}
    for each in workloads(manifests):
        assert pod(each)["automountServiceAccountToken"] is False
        assert pod(each)["serviceAccountName"] in accounts


def test_resources_are_asked_for_and_memory_is_bounded(manifests: list[Manifest]) -> None:
    for each in workloads(manifests):
        resources = container(each)["resources"]
        assert {"cpu", "memory", "ephemeral-storage"} <= resources["requests"].keys()
        # A request below the limit gets a pod evicted when its node is full.
        assert resources["limits"]["memory"] == resources["requests"]["memory"]
        assert "cpu" not in resources["limits"]


def test_every_pod_is_probed_from_start_to_end(manifests: list[Manifest]) -> None:
    for each in of_kind(manifests, *LASTING):
        ports = {port["name"] for port in container(each)["ports"]}
        for probe in ("startupProbe", "readinessProbe", "livenessProbe"):
            asked = container(each)[probe]
            if "exec" not in asked:
                assert (asked.get("httpGet") or asked["tcpSocket"])["port"] in ports
    collect = container(named(manifests, "Deployment", "collect"))
    assert collect["readinessProbe"]["httpGet"]["path"] == "/readyz"
    assert collect["livenessProbe"]["httpGet"]["path"] == "/healthz"


def test_what_is_more_than_one_is_spread_over_the_zones(manifests: list[Manifest]) -> None:
    for each in of_kind(manifests, *LASTING):
        if each["spec"].get("replicas") == 1:
            continue
        zones = [
            spread
            for spread in pod(each)["topologySpreadConstraints"]
            if spread["topologyKey"] == "topology.kubernetes.io/zone"
        ]
        (zone,) = zones
        assert zone["maxSkew"] == 1
        assert selects(zone["labelSelector"], pod_labels(each))


def test_collect_ends_after_the_balancer_has_left_and_its_requests_are_done(
    manifests: list[Manifest],
) -> None:
    collect = named(manifests, "Deployment", "collect")
    pause = container(collect)["lifecycle"]["preStop"]["sleep"]["seconds"]
    drain = CollectSettings.model_fields["drain_timeout"].default
    flush = 10
    assert pause >= 30
    assert seconds_before_kill(collect) > pause + drain + flush


def test_a_worker_is_drained_within_the_notice_of_a_spot_node(manifests: list[Manifest]) -> None:
    worker = named(manifests, "Deployment", "spark-worker")
    hook = container(worker)["lifecycle"]["preStop"]["exec"]["command"]
    assert hook[:2] == ["/opt/hifi/bin/drain-worker", "1"]
    longest_batch = int(SparkSettings.model_fields["ingest_batch"].default.split()[0])
    assert longest_batch < int(hook[2]) < seconds_before_kill(worker) < SPOT_NOTICE_SECONDS
    # Signals go to process 1, which must be Spark's own.
    assert command(worker)[0] == "spark-class"


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
    """Until then it holds the places of its executors, and the next driver has none."""
    master = pod(named(manifests, "StatefulSet", "spark-master"))
    kernel = {each["name"]: int(each["value"]) for each in master["securityContext"]["sysctls"]}
    # The only ones of those that every kubelet and the profile `restricted` allow, from Kubernetes 1.29 on.
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


@pytest.mark.parametrize(("name", "module"), METER.items())
def test_the_meter_runs_once_beside_the_chain(manifests: list[Manifest], name: str, module: str) -> None:
    only = named(manifests, "Deployment", name)
    assert only["spec"]["replicas"] == 1
    assert only["spec"]["strategy"] == {"type": "Recreate"}
    assert command(only)[-1] == module


def test_audit_takes_no_slot_of_the_workers_that_it_measures(manifests: list[Manifest]) -> None:
    audit = named(manifests, "Deployment", "audit-driver")
    assert environment(audit)["HIFI_MASTER"].startswith("local[")
    assert not {"PYSPARK_SUBMIT_ARGS", "POD_IP", "_SPARK_AUTH_SECRET"} & {
        each["name"] for each in container(audit)["env"]
    }
    assert not [each for each in of_kind(manifests, "Service") if each["metadata"]["name"] == "audit-driver"]


def test_the_meter_stores_and_notifies_where_the_stacks_say(manifests: list[Manifest]) -> None:
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    names = load_environment(RunSettings())
    assert side["HIFI_STORE_TABLE"] == names.names.meter_table(Side(side["HIFI_SIDE"]))
    assert side["HIFI_ALARM_TOPIC"].endswith(f":{names.twin(Side(side['HIFI_SIDE'])).names.alarm_topic}")
    console = named(manifests, "Deployment", "console")
    service = named(manifests, "Service", "observe")
    address = f"http://observe.hifi.svc.cluster.local:{service['spec']['ports'][0]['port']}"
    provisioner = named(manifests, "Deployment", "provision")
    for reader in (console, provisioner):
        assert environment(reader)["HIFI_OBSERVE_URL"] == address


def test_of_two_provisioners_one_goes_on_during_a_release(manifests: list[Manifest]) -> None:
    both = named(manifests, "Deployment", "provision")
    assert both["spec"]["replicas"] == 2
    assert both["spec"]["strategy"]["rollingUpdate"] == {"maxUnavailable": 1, "maxSurge": 0}
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    assert side["HIFI_DOCUMENTS_TABLE"] == load_environment(RunSettings()).names.documents_table


def test_the_canary_receives_at_the_one_private_address_that_transmit_may_dial(
    manifests: list[Manifest],
) -> None:
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    service = named(manifests, "Service", "canary")["spec"]
    address = ip_address(service["clusterIP"])
    assert side["HIFI_ALLOW_ADDRESS"] == str(address)
    assert side["HIFI_CANARY_SINKS"] == f"http://{address}:{service['ports'][0]['port']}"
    assert service["publishNotReadyAddresses"], "its own events arrive before it is seen to be ready"
    # Kubernetes assigns none of the first 256 addresses by itself
    assert int(address) - int(ip_network(SERVICE_RANGE).network_address) < 256
    CanarySettings.model_validate(
        {"bootstrap": side["HIFI_BOOTSTRAP"], "side": side["HIFI_SIDE"]}
        | {"allow_address": side["HIFI_ALLOW_ADDRESS"], "canary_sinks": side["HIFI_CANARY_SINKS"]}
    )


def test_the_meter_says_how_far_behind_it_is_though_it_is_not_ready(manifests: list[Manifest]) -> None:
    assert named(manifests, "Service", "observe")["spec"]["publishNotReadyAddresses"]


def test_the_job_makes_every_topic_of_the_contracts(
    blue: list[Manifest], monkeypatch: pytest.MonkeyPatch
) -> None:
    job = named(blue, "Job", "topics")
    asked: list[tuple[str, tuple[TopicSpec, ...]]] = []
    monkeypatch.setattr("shared.kafka.admin.ensure_topics", lambda *given: asked.append(given))
    monkeypatch.setenv("HIFI_BOOTSTRAP", "broker:9098")
    monkeypatch.setenv("PARTITIONS", environment(job)["PARTITIONS"])
    option, program = command(job)
    assert option == "-c"
    exec(compile(program, "job.yaml", "exec"), {})
    ((bootstrap, specs),) = asked
    assert bootstrap == "broker:9098"
    assert {spec.name for spec in specs} == set(Topic)


def test_a_version_is_asked_what_it_reads_and_by_nothing_but_a_person_or_the_deployer(
    manifests: list[Manifest],
) -> None:
    asked = named(manifests, "CronJob", READABILITY)
    assert asked["spec"]["suspend"] is True
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    assert wanted(ReadabilitySettings) <= side.keys()
    assert container(asked)["image"] == container(named(manifests, "Deployment", "ingest-driver"))["image"]
    # The answer is what the container leaves; of a failure the end of its log.
    assert command(asked)[-1].endswith("> /dev/termination-log")
    assert container(asked)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert pod(asked)["restartPolicy"] == "Never"
    assert selects(named(manifests, "NetworkPolicy", "everyone")["spec"]["podSelector"], pod_labels(asked)), (
        "its brokers"
    )


def test_who_has_a_volume_lives_where_every_zone_has_a_node(
    manifests: list[Manifest], cluster: list[Manifest]
) -> None:
    (master,) = [each for each in workloads(manifests) if "volumeClaimTemplates" in each["spec"]]
    assert pod(master)["nodeSelector"] == {"hifi/pool": "services"}
    assert load_environment(RunSettings(environment=EnvironmentName.PRODUCTION)).cluster.services.minimum >= 3
    (claim,) = master["spec"]["volumeClaimTemplates"]
    storage = named(cluster, "StorageClass", claim["spec"]["storageClassName"])
    assert storage["parameters"]["encrypted"] == "true"
    assert storage["volumeBindingMode"] == "WaitForFirstConsumer"


def test_only_who_tolerates_a_pools_taint_is_sent_there(manifests: list[Manifest]) -> None:
    for each in workloads(manifests):
        pool = pod(each)["nodeSelector"]["hifi/pool"]
        tolerated = {toleration.get("value") for toleration in pod(each).get("tolerations", [])} - {None}
        assert tolerated == {pool} - {"services"}
