"""Sizes and prices; their settings equal those of the infrastructure."""

import re
from pathlib import Path

import pytest
import yaml
from hypothesis import given
from hypothesis import strategies as st

from scripts.experiments.capacity.dollars import monthly
from scripts.experiments.capacity.model import fit
from scripts.experiments.capacity.points import read_facts
from scripts.experiments.capacity.rating import held_utilisation
from scripts.experiments.capacity.sizes import SideSize, side_size

FACTS = read_facts()
MODEL = fit(FACTS.points)
SHARE = held_utilisation(FACTS.points, FACTS.ratings)
ROOT = Path(__file__).parents[5]
BASE = ROOT / "infra" / "workloads" / "base"
RATES = st.floats(1, 3e6)


def size(rate: float) -> SideSize:
    return side_size(FACTS, MODEL, SHARE, rate)


def dollars(rate: float) -> float:
    return sum(monthly(FACTS, size(rate)).values())


@given(rate=RATES, more=st.floats(0, 1e6))
def test_more_events_never_cost_less(rate: float, more: float) -> None:
    assert dollars(rate) <= dollars(rate + more) + 1e-6


@given(rate=RATES)
def test_a_size_has_room_for_its_rate(rate: float) -> None:
    found = size(rate)
    workers, brokers = found.workers, found.brokers
    assert workers.count >= max(workers.held, workers.slots, FACTS["worker_minimum"])
    assert found.partitions * FACTS["partition_rate"] >= rate
    assert found.partitions % 3 == brokers.count % 3 == 0
    assert brokers.stored_gib <= brokers.count * FACTS["broker_largest_volume"]
    assert found.cores_most["three brokers"] <= brokers.cores * FACTS["broker_cpu_share"]
    least, most = sum(found.cores_least.values()), sum(found.cores_most.values())
    assert least <= most


def documents(name: str) -> list[dict[str, object]]:
    return [each for each in yaml.safe_load_all((BASE / name).read_text()) if each]


@pytest.mark.parametrize(
    ("tier", "name"), [("worker", "spark/scaling.yaml"), ("collect", "collect/scaling.yaml")]
)
def test_the_autoscalers_settings_are_those_of_the_manifests(tier: str, name: str) -> None:
    (spec,) = (each["spec"] for each in documents(name))
    assert isinstance(spec, dict)
    up = spec["advanced"]["horizontalPodAutoscalerConfig"]["behavior"]["scaleUp"]
    by_type = {policy["type"]: policy for policy in up["policies"]}
    assert FACTS[f"{tier}_minimum"] == spec["minReplicaCount"]
    assert FACTS[f"{tier}_maximum"] == spec["maxReplicaCount"]
    assert FACTS[f"{tier}_stabilization"] == up["stabilizationWindowSeconds"]
    assert FACTS[f"{tier}_step_pods"] == by_type["Pods"]["value"]
    assert FACTS[f"{tier}_step_share"] * 100 == by_type["Percent"]["value"]
    assert {FACTS[f"{tier}_step_seconds"]} == {policy["periodSeconds"] for policy in up["policies"]}
    (cpu,) = (each for each in spec["triggers"] if each["type"] == "cpu")
    assert FACTS["cpu_target"] * 100 == float(cpu["metadata"]["value"])


def test_other_settings_are_those_of_the_files_that_they_name() -> None:
    def text(path: str) -> str:
        return (ROOT / path).read_text()

    workers, collect = (
        text("infra/workloads/base/spark/workers.yaml"),
        text("infra/workloads/base/collect/deployment.yaml"),
    )
    assert f'requests: {{cpu: "{FACTS["worker_request"]:g}"' in workers
    assert f"requests: {{cpu: {FACTS['collect_request'] * 1000:g}m" in collect
    assert f'name: PARTITIONS, value: "{FACTS["partitions"]:g}"' in text(
        "infra/workloads/base/topics/job.yaml"
    )
    slots = re.search(
        r"spark\.executor\.cores +(\d+)", text("infra/workloads/base/spark/spark-defaults.conf")
    )
    assert slots and float(slots[1]) == FACTS["executor_slots"]
    charts = text("infra/components/kubernetes/helm_charts.py")
    assert f'"max-node-provision-time": "{FACTS.figure("node_start").top / 60:g}m"' in charts
    assert f"volume_gib: {FACTS['broker_first_volume']:g}\n" in text("infra/environments/production.yaml")


def test_documented_costs_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "infrastructure.md").read_text()
    (line,) = re.findall(r"(?m)^\| \*\*sum\*\* \|(.+)\|$", page)
    sums = [float(each.strip(" *").replace(",", "")) for each in line.split("|")]
    assert sums == [each.dollars for each in FACTS.documented]


def test_measured_points_are_those_of_the_page() -> None:
    page = (ROOT / "docs" / "performance.md").read_text()
    (rows,) = re.findall(r"(?s)\| \| 1,000/s single \|[^\n]+\n\|[-|]+\n(.+?)\n\| chain", page)
    cells = [[float(cell) for cell in row.split("|")[2:-1]] for row in rows.splitlines()]
    assert [list(each) for each in zip(*cells, strict=True)] == [
        list(point.cpu_per_million.values()) for point in FACTS.points
    ]
