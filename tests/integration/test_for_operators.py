"""For operators: charts find their metrics, the canary's events arrive, logs are JSON."""

import json
import urllib.request
from functools import partial

from prometheus_client import Metric
from prometheus_client.parser import text_string_to_metric_families

from scripts.dashboard.scrape import local
from scripts.local.processes.programs import API, CANARY, COLLECT, CONSOLE, OBSERVE, PROVISION, RETRY, TRACE
from scripts.local.processes.spark_programs import SPARK
from shared.runtime.metrics import CanaryMetric, DeployMetric, ProcessMetric
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.unit.scripts.dashboard.test_dashboard import COUNTER_OR_HISTOGRAM, asked, expressions

START_SECONDS = 180
"""Seconds; the side is ready before its canary."""

CANARY_PIPES = {f"canary-{kind}" for kind in ("plain", "pattern", "masks", "transform", "sample")}

OURS = (API, CANARY, COLLECT, CONSOLE, OBSERVE, PROVISION, RETRY, SPARK, TRACE)
"""hifi's own programs; brokers and the store have log formats of their own."""


def targets(live: LiveSide) -> dict[str, str]:
    """URLs that Prometheus scrapes, by process."""
    jobs = local(live.side)["scrape_configs"]
    return {job["job_name"]: job["static_configs"][0]["targets"][0] for job in jobs}


def exposed_at(target: str) -> list[Metric]:
    """The metrics of a process; empty during its start."""
    try:
        with urllib.request.urlopen(f"http://{target}/metrics", timeout=60) as reply:
            return list(text_string_to_metric_families(reply.read().decode()))
    except OSError:
        return []


def families(target: str) -> set[str]:
    """Names of a process's metrics, without the suffixes of counters."""
    return {COUNTER_OR_HISTOGRAM.sub("", family.name) for family in exposed_at(target)}


def by_pipe(live: LiveSide, metric: CanaryMetric) -> dict[str, float]:
    """One counter of the canary, by pipe."""
    counters = [found for found in exposed_at(targets(live)[CANARY]) if found.name == metric]
    totals = (sample for found in counters for sample in found.samples if sample.name.endswith("_total"))
    return {sample.labels["pipe"]: sample.value for sample in totals}


def test_every_chart_finds_its_metrics_at_the_processes(live: LiveSide) -> None:
    found = targets(live)
    assert set(found) == set(OURS)
    there = {
        name: eventually(partial(families, target), START_SECONDS, f"{name} answers")
        for name, target in found.items()
    }
    for name, exposed in there.items():
        assert exposed >= set(map(str, ProcessMetric)), name
        assert any(each.endswith("_ready") for each in exposed), name
    wanted = {COUNTER_OR_HISTOGRAM.sub("", name) for text in expressions() for name in asked(text)}
    # A single side has no deployer: its metrics are tested in tests/unit/pipelines/control/deploy.
    assert wanted - set(map(str, DeployMetric)) <= set().union(*there.values())


def test_the_canary_comes_through_each_of_its_pipes_as_the_pipe_makes_it(live: LiveSide) -> None:
    before = eventually(partial(by_pipe, live, CanaryMetric.ARRIVED), START_SECONDS, "the canary answers")
    assert set(before) == CANARY_PIPES

    def all_arrive() -> bool:
        now = by_pipe(live, CanaryMetric.ARRIVED)
        return all(now.get(pipe, 0) > count for pipe, count in before.items())

    eventually(all_arrive, START_SECONDS, "events of the canary arrive by every pipe", 1.0)
    wrong = eventually(partial(by_pipe, live, CanaryMetric.WRONG), START_SECONDS, "the canary answers")
    assert wrong == dict.fromkeys(CANARY_PIPES, 0)


def is_log_line(line: str) -> bool:
    """Whether a line is JSON with the fields of every log line."""
    try:
        fields = json.loads(line)
    except json.JSONDecodeError:
        return False
    return isinstance(fields, dict) and fields.keys() >= {"time", "level", "logger", "message", "process"}


def test_every_line_that_our_processes_log_is_json(live: LiveSide) -> None:
    for program in OURS:
        *lines, unfinished = (live.side.logs / f"{program}.log").read_text().split("\n")
        for line in lines:
            assert is_log_line(line), f"{program}: {line}"
        assert not unfinished or unfinished.startswith("{")


def test_a_side_is_open_with_its_addresses_before_the_warm_up_begins(live: LiveSide) -> None:
    before, warmed = live.said().split("warming up", 1)
    _, opened = before.split("\nopen ", 1)
    assert live.side.collect_url in opened
    assert live.side.api_url in opened
    assert "\nready " in warmed
    assert live.side.console_url in warmed
