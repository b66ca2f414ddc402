"""The files for Grafana and Prometheus are up to date and name only existing metrics."""

import json
import re
from collections.abc import Iterable, Iterator
from enum import StrEnum
from pathlib import Path
from typing import Any

import pytest
from prometheus_client import CollectorRegistry

from pipelines.control.canary.delivery_tracker import DeliveryTracker
from pipelines.control.canary.metrics import CanaryMetrics as CanaryMeters
from pipelines.control.deploy.metrics import DeployMetrics
from pipelines.control.deploy.policy import Policy, seconds_of
from pipelines.control.deploy.settings import DeploySettings
from pipelines.control.trace.metrics import TraceMetrics
from pipelines.data.collect.metrics import CollectMetrics
from pipelines.data.retry.metrics import RetryMetrics
from pipelines.data.retry.settings import RetrySettings
from scripts.dashboard.__main__ import FOLDER, files, hifi
from scripts.dashboard.alerts import ALERTS
from scripts.dashboard.grafana import WIDTH
from scripts.dashboard.scrape import local, pod_monitor
from scripts.local.side import Side
from shared.contracts.release_steps import ENDS, Step
from shared.contracts.topics import RETRY_DELAYS
from shared.runtime import metrics
from shared.spark.query_metrics import QueryMetrics

COUNTER_OR_HISTOGRAM = re.compile(r"_(total|bucket)$")
STRING = re.compile(r'"[^"]*"')
BRACKETS = re.compile(r"\{[^}]*\}|\[[^]]*\]|\bby \([^)]*\)")
NAME = re.compile(r"[A-Za-z_:][A-Za-z0-9_:]*(?!\w|\s*\()")
OPERATOR = {"by", "or"}


def names() -> set[str]:
    """Every metric name in shared/runtime/metrics.py."""
    classes = [each for each in vars(metrics).values() if isinstance(each, type)]
    enums: list[type[StrEnum]] = [each for each in classes if issubclass(each, StrEnum)]
    return {str(name) for enum in enums for name in enum}


def panels() -> list[dict[str, Any]]:
    return [panel for panel in hifi()["panels"] if panel["type"] != "row"]


def expressions() -> list[str]:
    return [target["expr"] for panel in panels() for target in panel["targets"]]


def asked(expression: str) -> set[str]:
    """The metrics that a PromQL expression reads."""
    bare = BRACKETS.sub("", STRING.sub("", expression))
    return {name for name in NAME.findall(bare) if name not in OPERATOR}


def test_the_metrics_of_an_expression_are_found() -> None:
    text = 'sum by (a, b) (rate(x_total{c="d", e=~"f|g"}[1m])) / histogram_quantile(0.9, h_bucket) + z'
    assert asked(text) == {"x_total", "h_bucket", "z"}


@pytest.mark.parametrize("name", sorted(files()))
def test_committed_files_equal_the_generated_ones(name: str) -> None:
    assert (FOLDER / name).read_text() == files()[name], "the file is outdated: run `make dashboard`"


def test_no_other_file_lies_beside_them() -> None:
    assert {path.name for path in FOLDER.iterdir()} == set(files())


def test_every_chart_asks_for_metrics_that_have_a_typed_name() -> None:
    known = names()
    for expression in expressions():
        found = asked(expression)
        assert found, expression
        assert {COUNTER_OR_HISTOGRAM.sub("", name) for name in found} <= known, expression


def exposed(registries: Iterable[CollectorRegistry]) -> Iterator[str]:
    """Names of samples, also of metrics without samples yet."""
    endings = {"counter": ("_total",), "histogram": ("_bucket", "_sum", "_count"), "gauge": ("",)}
    for registry in registries:
        for family in registry.collect():
            yield from (family.name + ending for ending in endings[family.type])


def test_every_chart_asks_for_samples_as_the_processes_expose_them() -> None:
    """Counters are read as rates and histograms as buckets: their bare names have no samples."""
    canary = CanaryMeters(DeliveryTracker((), 0), (), lambda: 0)
    deploy = DeployMetrics(lambda: 0)
    processes = (CollectMetrics(), RetryMetrics(), QueryMetrics("test"), canary, TraceMetrics(), deploy)
    registries = [process.registry for process in processes]
    there = set(exposed(registries))
    prefixes = (
        "hifi_collect_",
        "hifi_retry_",
        "hifi_spark_",
        "hifi_canary_",
        "hifi_trace_",
        "hifi_deploy_",
        "process_",
        "hifi_build_",
    )
    wanted = {name for text in expressions() for name in asked(text) if name.startswith(prefixes)}
    assert wanted
    assert wanted <= there


ON_NO_CHART = {
    metrics.ApiMetric.TAILS,
    metrics.ApiMetric.REQUESTS,
    metrics.CanaryMetric.P95,  # the chart shows p95 by pipe, from the histogram
    metrics.CollectMetric.ABANDONED,
    metrics.CollectMetric.BODY_BYTES,
    metrics.CollectMetric.HELD_BYTES,
    metrics.CollectMetric.LATE,
    metrics.ConsoleMetric.PAGES,
    metrics.DeployMetric.LEADER,
    metrics.DeployMetric.NUMBER,
    metrics.DeployMetric.STEP,
    metrics.ObserveMetric.LEDGER_OFFSET,
    metrics.ProvisionMetric.CATALOGUE_VERSION,
    metrics.ProvisionMetric.LEADER,
    metrics.ProvisionMetric.INSTANCES,
    metrics.ProvisionMetric.PUBLISHED,
    metrics.ProvisionMetric.WAITING,
    metrics.RetryMetric.QUARANTINED,
}
"""Metrics without a chart: for /metrics, a page of their own, or an alert."""


def test_every_metric_is_on_a_chart_or_is_left_out_on_purpose() -> None:
    shown = {COUNTER_OR_HISTOGRAM.sub("", name) for text in expressions() for name in asked(text)}
    assert names() - shown == set(map(str, ON_NO_CHART))


def test_panels_do_not_overlap_and_have_descriptions() -> None:
    taken: set[tuple[int, int]] = set()
    for panel in hifi()["panels"]:
        place = panel["gridPos"]
        columns = range(place["x"], place["x"] + place["w"])
        cells = {(x, y) for x in columns for y in range(place["y"], place["y"] + place["h"])}
        assert columns.stop <= WIDTH
        assert not cells & taken, panel["title"]
        taken |= cells
    for panel in panels():
        assert panel["title"]
        assert panel["description"].endswith(".")
        assert panel["fieldConfig"]["defaults"]["unit"], "every number has a unit"
    ids = [panel["id"] for panel in hifi()["panels"]]
    assert len(set(ids)) == len(ids)


def test_the_data_source_and_the_tenant_are_the_readers_choice() -> None:
    variables = {each["name"]: each for each in hifi()["templating"]["list"]}
    assert variables["datasource"]["query"] == "prometheus"
    assert variables["tenant"]["current"]["value"] == "*"
    used = set(re.findall(r"\$(\w+)", json.dumps([panel["targets"] for panel in panels()])))
    assert used == {"tenant", "__rate_interval"}
    assert {panel["datasource"]["uid"] for panel in panels()} == {"${datasource}"}


def test_a_local_sides_processes_are_asked_at_their_own_ports() -> None:
    side = Side(root=Path("side"), port=9000)
    jobs = {each["job_name"]: each["static_configs"] for each in local(side)["scrape_configs"]}
    ports = {name: configs[0]["targets"][0] for name, configs in jobs.items()}
    assert ports["collect"] == f"127.0.0.1:{side.collect_port}"
    assert ports["spark"] == f"127.0.0.1:{side.spark_port}"
    assert len(set(ports.values())) == len(ports)
    brokers = {f"127.0.0.1:{side.broker_port(broker)}" for broker in (1, 2, 3)}
    assert not brokers & set(ports.values())
    assert all(int(target.rpartition(":")[2]) in side.ports for target in ports.values())


def test_a_cluster_is_asked_by_the_pods_labels() -> None:
    spec = pod_monitor()["spec"]
    assert spec["selector"] == {"matchLabels": {"app.kubernetes.io/part-of": "hifi"}}
    endpoints = {each["port"]: each["relabelings"] for each in spec["podMetricsEndpoints"]}
    assert set(endpoints) == {"metrics", "http"}
    dropped = [rule["regex"] for rule in endpoints["http"] if rule.get("action") == "drop"]
    assert dropped == ["collect"]
    for relabelings in endpoints.values():
        assert [rule["targetLabel"] for rule in relabelings if "targetLabel" in rule] == ["job", "instance"]


def test_every_alert_asks_for_samples_that_the_processes_expose() -> None:
    known = names()
    for alert in ALERTS:
        found = asked(re.sub(r"\band on \([^)]*\)", "", alert.expression))
        assert {COUNTER_OR_HISTOGRAM.sub("", name) for name in found} <= known, alert.name
        assert found or "_ready" in alert.expression, alert.name


def test_every_alert_says_what_is_wrong_and_what_to_do() -> None:
    assert len({alert.name for alert in ALERTS}) == len(ALERTS)
    for alert in ALERTS:
        assert alert.summary
        assert alert.description.endswith((".", "?"))
        assert alert.expression.count("(") == alert.expression.count(")")
        # A label that the expression has summed away would be empty in the text.
        used = set(re.findall(r"\$labels\.(\w+)", alert.summary + alert.description))
        kept = {
            label
            for found in re.findall(r"\bby \(([^)]*)\)", alert.expression)
            for label in found.split(", ")
        }
        assert used <= kept | {"query", "pipe"}, alert.name


def test_retries_that_are_spread_on_purpose_raise_no_alert_and_each_topic_has_a_limit() -> None:
    (late,) = [each.expression for each in ALERTS if each.name == "HifiRetriesLate"]
    limits = dict(re.findall(r'topic="([^"]+)"[^>]*> (\d+)', late))
    spread = RetrySettings.model_fields["spread"].default
    assert limits.keys() == {str(topic) for topic in RETRY_DELAYS}
    for topic, delay in RETRY_DELAYS.items():
        assert spread * delay.total_seconds() < int(limits[topic]) < delay.total_seconds() + 60


def test_an_observe_that_serves_metrics_and_does_no_work_raises_an_alert_unless_its_side_is_parked() -> None:
    (missing,) = [each.expression for each in ALERTS if each.name == "HifiMeterMissing"]
    at_work, of_the_side = missing.split(" and on () ")
    assert re.fullmatch(rf"absent\({metrics.ObserveMetric.READY}\S* == 1\)", at_work)
    assert metrics.CollectMetric.READY in of_the_side


def test_a_release_that_stands_in_a_step_without_an_end_raises_an_alert() -> None:
    (stands,) = [each.expression for each in ALERTS if each.name == "HifiReleaseStands"]
    found = [each.split("|") for each in re.findall(r'step=~"([^"]+)"', stands)]
    watched = {Step(name) for names in found for name in names}
    unbounded = {step for step in Step if step not in ENDS and seconds_of(step, Policy()) is None}
    assert unbounded - watched == {Step.PREFLIGHT}


def test_a_side_that_waits_for_its_retries_raises_no_alert_and_one_that_drains_for_longer_does() -> None:
    (stands,) = [each.expression for each in ALERTS if each.name == "HifiReleaseStands"]
    limits = dict(re.findall(r'step=~"([^"]+)"[^>]*> (\d+)', stands))
    retries = DeploySettings.model_fields["retries_seconds"].default
    assert retries < int(limits[Step.DRAIN]) <= 1.1 * retries
