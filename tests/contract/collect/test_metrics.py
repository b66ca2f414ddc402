"""collect's metrics and logs."""

import json
from pathlib import Path

from shared.runtime.metrics import CollectMetric, ProcessMetric
from tests.contract.collect.conftest import Start
from tests.contract.collect.process import KEY, CollectProcess, encoded, event
from tests.harness.service_process import request
from tests.harness.waiting import free_port


def test_metrics_have_a_port_of_their_own_where_one_is_given(start: Start) -> None:
    """The events' port is public, so it must not serve metrics."""
    own = free_port()
    process = start(metrics_port=str(own))
    assert process.post(encoded(event())).status == 202
    assert process.request("GET", "/metrics").status == 404
    assert process.request("GET", "/readyz").status == 200
    answer = request(own, "GET", "/metrics")
    assert answer.status == 200
    assert f"{CollectMetric.EVENTS}_total 1.0" in answer.text
    assert f"{CollectMetric.READY} 1.0" in answer.text
    ready = request(own, "GET", "/readyz")
    assert (ready.status, ready.json) == (200, {"ready": True, "config": True, "kafka": True})
    assert process.stop() == 0


def test_metrics_show_build_and_cost(collect: CollectProcess) -> None:
    assert collect.metric(ProcessMetric.BUILD) == 1
    assert collect.metric(f"{ProcessMetric.CPU_SECONDS}_total") > 0
    assert collect.metric(ProcessMetric.MEMORY_BYTES) > 1e6


def test_every_line_of_the_log_is_json_without_payloads_or_keys(start: Start, tmp_path: Path) -> None:
    process = start()
    assert process.post(encoded(event(data={"card": "4111-1111"}))).status == 202
    assert process.raw(b"no http at all\r\n\r\n").startswith(b"HTTP/1.1 400")
    assert process.stop() == 0
    text = (tmp_path / "0.log").read_text()
    lines = [json.loads(line) for line in text.splitlines()]
    assert lines, "it logs at least its address"
    for line in lines:
        assert line.keys() >= {"time", "level", "logger", "message", "process"}
        assert line["process"] == "collect"
    assert "4111" not in text
    assert KEY not in text


def test_a_process_that_cannot_start_says_why_in_json(tmp_path: Path) -> None:
    log = tmp_path / "log"
    process = CollectProcess("localhost:1", log, port="no number")
    assert process.process.wait(60) == 1
    (line,) = map(json.loads, log.read_text().splitlines())
    assert line["level"] == "CRITICAL"
    assert "port" in line["exc_info"]
