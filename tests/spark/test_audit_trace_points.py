"""Audit writes a trace point for each place of a traced event, and none for other events."""

import json
from typing import Any

import msgspec
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


def told(spark: SparkSession, topic: Topic, value: bytes | None, heads: Headers) -> list[TracePoint]:
    """Trace points of one record."""
    record = (None, value, str(topic), 0, 7, None, heads)
    frame = one_partition(spark, [record], ROW)
    frame = frame.selectExpr("* except (timestamp)", f"timestamp_millis({WRITTEN_MS}) as timestamp")
    found = rows(frame).select(*ROWS).mapInArrow(tally, OUTPUT).collect()
    return [decode_trace_point(bytes(row["value"])) for row in found if row["topic"] == Topic.TRACES]


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


def test_collected_events_that_ingest_will_trace_have_trace_points(spark: SparkSession) -> None:
    common = {"source": "/p", "type": "t", "time": "2026-01-01T00:00:00Z", "minute": 29_453_760}
    items = [
        {**common, "id": CHOSEN},
        {**common, "id": "a"},
        {**common, "id": "b", "headers": {h.TRACEPARENT: CLIENTS, "ce_subject": "s"}},
        {**common, "id": "c", "headers": {h.TRACEPARENT: UNSAMPLED}},
        {**common, "id": CHOSEN, "headers": {h.TRACEPARENT: UNSAMPLED}},
    ]
    found = told(spark, Topic.COLLECTED, json.dumps(items).encode(), headers(STAMPS))
    first = seen(Topic.COLLECTED, Stage.COLLECTED, name="player")
    assert found == [first, msgspec.structs.replace(first, id="b", traceparent=CLIENTS)]


def test_of_each_record_on_the_way(spark: SparkSession) -> None:
    assert told(spark, Topic.EVENTS, b"{}", stamped()) == [seen(Topic.EVENTS, Stage.EVENTS)]
    assert told(spark, Topic.EVENTS, b"{}", event_headers()) == []
    copy = stamped(hifi_pipe="shop", hifi_pipes="shop,bank")
    assert told(spark, Topic.OUTBOUND, b"{}", copy) == [seen(Topic.OUTBOUND, Stage.FIRST, name="shop")]
    poison = [header for header in stamped(hifi_origin="outbound/0/1") if header[0] != h.RECEIVED]
    assert told(spark, Topic.QUARANTINE, b"{}", poison) == [], "counted, but its arrival time is unknown"
    again = stamped(hifi_pipe="shop", hifi_attempt="2")
    assert told(spark, Topic.RETRY_OUT, b"{}", again) == [seen(Topic.RETRY_OUT, Stage.RETRIED, name="shop")]


def test_of_a_receipt_those_that_it_says_are_traced(spark: SparkSession) -> None:
    receipt = Receipt(
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
    answer = seen(
        Topic.RECEIPTS,
        Stage.RETRYING,
        name="shop",
        destination="till",
        end_ms=DEPARTED_MS,
        result="503 failed",
    )
    clients = msgspec.structs.replace(answer, id="b", traceparent=CLIENTS)
    assert told(spark, Topic.RECEIPTS, msgspec.json.encode(receipt), []) == [answer, clients]
