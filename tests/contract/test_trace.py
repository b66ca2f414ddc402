"""trace on real brokers, with an OTLP receiver on a real socket: it repeats unacknowledged spans."""

import json
from collections.abc import Callable, Iterator, Mapping
from pathlib import Path
from typing import ClassVar

import pytest

from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic
from shared.contracts.tracing import TracePoint, encode_trace_point, own_traceparent, span_id, traced
from tests.harness.service_process import ServiceProcess, stop_all
from tests.harness.span_receiver import Span, SpanReceiver, listening
from tests.harness.topics import Topics
from tests.harness.waiting import eventually, free_port

STAGES = (
    (Stage.COLLECTED, Topic.COLLECTED, "web"),
    (Stage.EVENTS, Topic.EVENTS, ""),
    (Stage.FIRST, Topic.OUTBOUND, "shop"),
    (Stage.DELIVERED, Topic.RECEIPTS, "shop"),
)


class TraceProcess(ServiceProcess):
    """trace on a port of its own."""

    program = "pipelines.control.trace.__main__"
    times: ClassVar[Mapping[str, float]] = {
        "pipelines.control.trace.service._LONGEST_SECONDS": 0.1,
        "pipelines.control.trace.service._PAUSE_SECONDS": 0.2,
    }
    stop_seconds = request_seconds = 60

    def __init__(self, bootstrap: str, endpoint_port: int, log: Path) -> None:
        environment = {
            "HIFI_BOOTSTRAP": bootstrap,
            "HIFI_OTLP_ENDPOINT": f"http://127.0.0.1:{endpoint_port}",
            "HIFI_HOLD_SECONDS": "1",
            "HIFI_EXPORT_TIMEOUT": "1",
        }
        super().__init__(log, environment)

    def get(self, path: str) -> str:
        """Text of a response, whatever its status; empty while nothing listens."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            return self.request("GET", path).text
        except OSError:
            return ""


Start = Callable[[int], TraceProcess]


@pytest.fixture
def start(topics: str, tmp_path: Path) -> Iterator[Start]:
    started: list[TraceProcess] = []

    def begin(port: int) -> TraceProcess:
        started.append(TraceProcess(topics, port, tmp_path / "trace.log"))
        return started[-1]

    yield begin
    stop_all(started)


def put(side: Topics, event_id: str) -> None:
    """Write audit's trace points of a delivered event."""
    for offset, (stage, topic, name) in enumerate(STAGES):
        seen = TracePoint(
            traceparent=own_traceparent("acme", event_id),
            tenant="acme",
            id=event_id,
            stage=stage,
            name=name,
            begin_ms=1_767_225_600_000,
            end_ms=1_767_225_600_010 + offset,
            topic=topic,
            partition=0,
            offset=offset,
        )
        side.put(Topic.TRACES, encode_trace_point(seen), [], None)
    side.flush()


def trace_of(event_id: str) -> str:
    context = traced(own_traceparent("acme", event_id))
    assert context is not None
    return context.trace_id


def chain(event_id: str) -> set[Span]:
    collect, ingest, route, transmit = (
        span_id("acme", event_id, *of)
        for of in (("collect",), ("ingest",), ("route", "shop"), ("delivered", "shop", "receipts/0/3"))
    )
    return {
        ("collect", "collect web", collect, ""),
        ("ingest", "ingest", ingest, collect),
        ("route", "route shop", route, ingest),
        ("transmit", "transmit shop", transmit, route),
    }


def test_each_node_is_a_span_of_the_events_chain_and_the_unreadable_is_passed_over(
    topics: str, start: Start
) -> None:
    side, receiver = Topics(topics), SpanReceiver(free_port())
    with listening(receiver):
        process = start(receiver.port)
        side.put(Topic.TRACES, b"rubbish", [], None)
        put(side, "e1")
        put(side, "e2")
        eventually(lambda: receiver.spans == {trace_of(one): chain(one) for one in ("e1", "e2")}, 120)
        eventually(lambda: "hifi_trace_exported_spans_total 8.0" in process.get("/metrics"), 120)
        assert "hifi_trace_unreadable_records_total 1.0" in process.get("/metrics")
        assert json.loads(process.get("/readyz"))["ready"]
        assert process.stop() == 0


def test_unacknowledged_spans_are_sent_again_also_by_the_next_process(topics: str, start: Start) -> None:
    side, receiver = Topics(topics), SpanReceiver(free_port())
    process = start(receiver.port)
    put(side, "e1")
    eventually(lambda: '"exports": false' in process.get("/readyz"), 120)
    assert process.stop() == 0, "without a receiver it must still stop"

    receiver.status = 503
    with listening(receiver):
        process = start(receiver.port)
        eventually(lambda: receiver.refused > 1, 120)
        assert receiver.spans == {}
        receiver.status = 200
        eventually(lambda: receiver.spans == {trace_of("e1"): chain("e1")}, 120)
        eventually(lambda: '"ready": true' in process.get("/readyz"), 120)
        assert process.stop() == 0
        receiver.spans.clear()
        start(receiver.port)
        put(side, "e2")
        eventually(lambda: bool(receiver.spans), 120)
        assert list(receiver.spans) == [trace_of("e2")], "acknowledged spans are not sent again"


def test_a_receiver_that_redirects_has_acknowledged_nothing(topics: str, start: Start) -> None:
    side, receiver = Topics(topics), SpanReceiver(free_port())
    receiver.status = 308
    with listening(receiver):
        process = start(receiver.port)
        put(side, "e1")
        eventually(lambda: receiver.refused > 1 and '"exports": false' in process.get("/readyz"), 120)
        assert '"status": 308' in process.log.read_text()
        receiver.status = 200
        eventually(lambda: receiver.spans == {trace_of("e1"): chain("e1")}, 120)
        eventually(lambda: '"ready": true' in process.get("/readyz"), 120)
        assert process.stop() == 0
