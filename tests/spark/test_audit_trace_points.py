"""Audit writes a trace point at each place of a traced event, and none for other events."""

import json
from typing import Any

import msgspec
import pytest
from pyspark.sql import SparkSession

from pipelines.control.audit.aggregation import tally
from pipelines.control.audit.schema import OUTPUT, ROWS
from pipelines.control.audit.transforms import rows
from shared.contracts import headers as h
from shared.contracts.ledger import Stage
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from shared.contracts.tracing import TracePoint, decode_trace_point, is_sampled, own_traceparent
from tests.spark.events import ATTRIBUTES, STAMPS, Headers, event_headers, headers, one_partition

CHOSEN = next(f"e{n}" for n in range(100_000) if is_sampled(f"e{n}"))
OWN = own_traceparent("acme", CHOSEN)
CLIENTS = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-01"
UNSAMPLED = "00-4bf92f3577b34da6a3ce929d0e0e4736-00f067aa0ba902b7-00"
RECEIVED_MS, WRITTEN_MS, DEPARTED_MS = 1_767_225_600_123, 1_767_225_600_456, 1_767_225_600_400
ROW = (
    "key binary, value binary, topic string, partition int, offset bigint, timestamp timestamp, "
    "headers array<struct<key:string,value:binary>>"
)


Record = tuple[Topic, bytes | None, Headers]


@pytest.fixture(scope="module")
def written(spark: SparkSession, given: dict[str, tuple[Record, ...]]) -> dict[str, list[list[TracePoint]]]:
    """The trace points of each test's records; a record is a partition."""
    records = [
        (None, value, str(topic), number, 7, None, heads)
        for number, (topic, value, heads) in enumerate(each for test in given.values() for each in test)
    ]
    frame = one_partition(spark, records, ROW)
    frame = frame.selectExpr("* except (timestamp)", f"timestamp_millis({WRITTEN_MS}) as timestamp")
    found = rows(frame).select(*ROWS).mapInArrow(tally, OUTPUT).collect()
    points = [decode_trace_point(bytes(row["value"])) for row in found if row["topic"] == Topic.TRACES]
    numbers = iter(range(len(records)))
    return {test: [_of(points, next(numbers)) for _ in of_test] for test, of_test in given.items()}


def _of(points: list[TracePoint], partition: int) -> list[TracePoint]:
    return [msgspec.structs.replace(each, partition=0) for each in points if each.partition == partition]


@pytest.fixture
def points(
    written: dict[str, list[list[TracePoint]]], request: pytest.FixtureRequest
) -> list[list[TracePoint]]:
    """The trace points of each record in the test's mark `given`."""
    return written[request.node.nodeid]


def seen(topic: Topic, stage: Stage, **more: Any) -> TracePoint:
    here = TracePoint(
        traceparent=OWN,
        tenant="acme",
        id=CHOSEN,
        stage=stage,
        begin_ms=RECEIVED_MS,
        end_ms=WRITTEN_MS,
        topic=topic,
        partition=0,
        offset=7,
    )
    return msgspec.structs.replace(here, **more)


def stamped(**more: str) -> Headers:
    """Headers of a traced event's record after ingest."""
    return event_headers({**ATTRIBUTES, "id": CHOSEN, "traceparent": OWN}, **more)


_COMMON = {"source": "/p", "type": "t", "time": "2026-01-01T00:00:00Z", "minute": 29_453_760}
_ITEMS = [
    {**_COMMON, "id": CHOSEN},
    {**_COMMON, "id": "a"},
    {**_COMMON, "id": "b", "headers": {h.TRACEPARENT: CLIENTS, "ce_subject": "s"}},
    {**_COMMON, "id": "c", "headers": {h.TRACEPARENT: UNSAMPLED}},
    {**_COMMON, "id": CHOSEN, "headers": {h.TRACEPARENT: UNSAMPLED}},
]


@pytest.mark.given((Topic.COLLECTED, json.dumps(_ITEMS).encode(), headers(STAMPS)))
def test_collected_events_that_ingest_will_trace_have_trace_points(points: list[list[TracePoint]]) -> None:
    first = seen(Topic.COLLECTED, Stage.COLLECTED, name="player")
    assert points == [[first, msgspec.structs.replace(first, id="b", traceparent=CLIENTS)]]


@pytest.mark.given(
    (Topic.EVENTS, b"{}", stamped()),
    (Topic.EVENTS, b"{}", event_headers()),
    (Topic.OUTBOUND, b"{}", stamped(hifi_pipe="shop", hifi_pipes="shop,bank")),
    (
        Topic.QUARANTINE,
        b"{}",
        [each for each in stamped(hifi_origin="outbound/0/1") if each[0] != h.RECEIVED],
    ),
    (Topic.RETRY_OUT, b"{}", stamped(hifi_pipe="shop", hifi_attempt="2")),
)
def test_only_readable_records_of_traced_events_have_trace_points(points: list[list[TracePoint]]) -> None:
    after_ingest, untraced, copy, poison, again = points
    assert after_ingest == [seen(Topic.EVENTS, Stage.EVENTS)]
    assert untraced == []
    assert copy == [seen(Topic.OUTBOUND, Stage.FIRST, name="shop")]
    assert poison == [], "counted, but its arrival time is unknown"
    assert again == [seen(Topic.RETRY_OUT, Stage.RETRIED, name="shop")]


_RECEIPT = Receipt(
    destination="till",
    pipe="shop",
    result="retry",
    ids=["a", CHOSEN, "b"],
    minutes=[29_453_760] * 3,
    status=503,
    tries=1,
    attempt=1,
    received_ms=[RECEIVED_MS] * 3,
    departed_ms=DEPARTED_MS,
    tenant="acme",
    since_ms=[RECEIVED_MS] * 3,
    traces={CHOSEN: OWN, "b": CLIENTS},
    reason="failed: the destination answered 503",
)


@pytest.mark.given((Topic.RECEIPTS, msgspec.json.encode(_RECEIPT), []))
def test_a_receipt_has_trace_points_of_the_events_that_it_marks_as_traced(
    points: list[list[TracePoint]],
) -> None:
    answer = seen(
        Topic.RECEIPTS,
        Stage.RETRYING,
        name="shop",
        destination="till",
        end_ms=DEPARTED_MS,
        result="503 failed",
    )
    clients = msgspec.structs.replace(answer, id="b", traceparent=CLIENTS)
    assert points == [[answer, clients]]


def _with_id(event_id: bytes) -> Headers:
    return [(name, event_id if name == "ce_id" else value) for name, value in stamped()]


@pytest.mark.given((Topic.EVENTS, b"{}", _with_id(b"\xff")))
def test_an_event_with_an_invalid_utf8_id_has_a_trace_point(points: list[list[TracePoint]]) -> None:
    assert points == [[seen(Topic.EVENTS, Stage.EVENTS, id="\ufffd")]]
