"""What operators see of a whole side: Grafana's charts find their metrics, and machines can read the logs."""

import json
import urllib.request
from functools import partial

import pytest
from prometheus_client.parser import text_string_to_metric_families

from scripts.dashboard.scrape import local
from scripts.local.programs import CANARY, COLLECT, CONSOLE, OBSERVE, RETRY, SPARK, TRACE
from shared.runtime.metrics import ProcessMetric
from tests.integration.live import LiveSide, eventually
from tests.unit.test_dashboard import COUNTER_OR_HISTOGRAM, asked, expressions

pytestmark = pytest.mark.integration

START_SECONDS = 60
"""The side is ready before its canary is."""

OURS = (CANARY, COLLECT, CONSOLE, OBSERVE, RETRY, SPARK, TRACE)
"""Programs of the project; brokers and the store write as they like."""


def targets(live: LiveSide) -> dict[str, str]:
    """Where Prometheus asks, by process."""
    jobs = local(live.side)["scrape_configs"]
    found = {job["job_name"]: job["static_configs"][0]["targets"][0] for job in jobs}
    return {name: target for name, target in found.items() if name in OURS}


def families(target: str) -> set[str]:
    """The names a process exposes, without the endings of counters; none while it starts."""
    try:
        with urllib.request.urlopen(f"http://{target}/metrics", timeout=10) as reply:
            text = reply.read().decode()
    except OSError:
        return set()
    return {COUNTER_OR_HISTOGRAM.sub("", family.name) for family in text_string_to_metric_families(text)}


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
    assert wanted <= set().union(*there.values())


def test_every_line_that_our_processes_log_is_json(live: LiveSide) -> None:
    for program in OURS:
        *lines, unfinished = (live.side.logs / f"{program}.log").read_text().split("\n")
        for line in lines:
            found = json.loads(line)
            assert found.keys() >= {"time", "level", "logger", "message", "process"}, line
        assert not unfinished or unfinished.startswith("{")
