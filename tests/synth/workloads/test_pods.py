"""Each pod's user, node, resources, probes and shutdown."""

import importlib.util
import re

from infra.config import EnvironmentName, RunSettings, load_environment
from pipelines.control.readability.answer import MODULE
from pipelines.data.collect.settings import CollectSettings
from shared.runtime.settings import SparkSettings
from tests.synth.workloads.manifests import (
    CHAIN,
    LASTING,
    METER,
    Manifest,
    command,
    container,
    containers,
    label,
    named,
    of_kind,
    pod,
    pod_labels,
    seconds_before_kill,
    selects,
    workloads,
)

SPOT_NOTICE_SECONDS = 120
STARTED = re.compile(r"-m (\S+)")


def test_a_sides_manifests_contain_every_workload(manifests: list[Manifest]) -> None:
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
        # With a request below the limit, a pod is evicted when its node is full.
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
