"""A side's meter, canary, provisioners, topics and readability: how they run, with which inputs."""

from ipaddress import ip_address, ip_network

import pytest

from infra.components.kubernetes.cluster import SERVICE_RANGE
from infra.config import RunSettings, load_environment
from infra.naming import Side
from pipelines.control.backends.aws.workloads import READABILITY
from pipelines.control.canary.settings import CanarySettings
from pipelines.control.readability.settings import ReadabilitySettings
from shared.contracts.topics import Topic, TopicSpec
from tests.synth.workloads.manifests import (
    METER,
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
)


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
    # The container leaves the answer; after a failure it is the end of its log.
    assert command(asked)[-1].endswith("> /dev/termination-log")
    assert container(asked)["terminationMessagePolicy"] == "FallbackToLogsOnError"
    assert pod(asked)["restartPolicy"] == "Never"
    assert selects(named(manifests, "NetworkPolicy", "everyone")["spec"]["podSelector"], pod_labels(asked)), (
        "its brokers"
    )
