"""Every process knows its zone by the brokers' name, and its consumers read there."""

import os
import subprocess
from pathlib import Path

import pytest

from infra.components.kafka.configuration import PROPERTIES
from scripts.local.kafka.brokers import properties
from scripts.local.side import Side
from tests.synth.workloads.manifests import (
    WITH_PODS,
    WORKLOADS,
    Manifest,
    container,
    label,
    named,
    of_kind,
    render,
)
from tests.synth.workloads.test_scaling import spark_settings

IN_ZONE = WORKLOADS / "images" / "in-zone.sh"
IDS = "eu-west-1a=euw1-az3,eu-west-1b=euw1-az1,eu-west-1c=euw1-az2"


def rack(**variables: str) -> str | None:
    """HIFI_CLIENT_RACK of a process started by the images' entry point; None if it is not set."""
    inherited = {name: value for name, value in os.environ.items() if not name.startswith("HIFI_")}
    done = subprocess.run(
        [IN_ZONE, "sh", "-c", 'echo "${HIFI_CLIENT_RACK-unset}"'],
        env=inherited | variables,
        capture_output=True,
        text=True,
        check=True,
        timeout=120,
    )
    found = done.stdout.strip()
    return None if found == "unset" else found


def test_brokers_let_consumers_read_from_a_replica_in_their_zone() -> None:
    selector = "org.apache.kafka.common.replica.RackAwareReplicaSelector"
    assert PROPERTIES["replica.selector.class"] == selector
    assert properties(Side(root=Path("side")), 1)["replica.selector.class"] == selector


@pytest.mark.parametrize(
    ("zone", "wanted"),
    [("eu-west-1a", "euw1-az3"), ("eu-west-1c", "euw1-az2"), ("us-east-1a", None), ("", None)],
)
def test_the_entry_point_turns_the_zones_name_into_its_id(zone: str, wanted: str | None) -> None:
    assert rack(HIFI_ZONE=zone, HIFI_ZONE_IDS=IDS) == wanted


def test_a_process_without_zone_or_map_starts_and_reads_from_leaders() -> None:
    assert rack() is None
    assert rack(HIFI_ZONE="eu-west-1a") is None


def test_the_entry_point_passes_on_the_commands_own_words_and_status() -> None:
    done = subprocess.run([IN_ZONE, "sh", "-c", 'exit "$1"', "sh", "7"], check=False, timeout=120)
    assert done.returncode == 7


def test_both_images_start_everything_by_the_entry_point() -> None:
    for name in ("service", "spark"):
        text = (WORKLOADS / "images" / f"{name}.Dockerfile").read_text()
        assert "in-zone.sh /opt/hifi/bin/in-zone" in text
        assert 'ENTRYPOINT ["/opt/hifi/bin/in-zone"' in text


def _knows_its_zone(workload: Manifest) -> None:
    given = {each["name"]: each for each in container(workload)["env"]}
    path = given["HIFI_ZONE"]["valueFrom"]["fieldRef"]["fieldPath"]
    assert path == "metadata.labels['topology.kubernetes.io/zone']", label(workload)
    # `command` would replace the entry point.
    assert "command" not in container(workload), label(workload)
    assert {"configMapRef"} <= {key for each in container(workload).get("envFrom", []) for key in each} or (
        workload["metadata"]["name"] == "spark-master"
    )


def test_every_pod_knows_its_zone_and_is_started_by_the_entry_point(manifests: list[Manifest]) -> None:
    for workload in of_kind(manifests, *WITH_PODS):
        _knows_its_zone(workload)
    (trace,) = of_kind(render(WORKLOADS / "components" / "trace" / "pod"), "Deployment")
    _knows_its_zone(trace)


def test_the_map_of_zones_is_in_every_process_environment(manifests: list[Manifest]) -> None:
    (side,) = [
        each for each in of_kind(manifests, "ConfigMap") if each["metadata"]["name"].startswith("side-")
    ]
    assert side["data"]["HIFI_ZONE_IDS"].count("=") == 3


def test_s3_is_asked_in_its_region_and_without_probes_before_a_write(manifests: list[Manifest]) -> None:
    found = spark_settings(manifests)
    assert found["spark.hadoop.fs.s3a.endpoint.region"] == "${env.AWS_REGION}"
    assert "create" in found["spark.hadoop.fs.s3a.performance.flags"].split(",")
    worker = named(manifests, "Deployment", "spark-worker")
    assert {"configMapRef"} <= {key for each in container(worker)["envFrom"] for key in each}
