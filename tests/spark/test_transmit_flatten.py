"""Outbound records as flat columns, and the problems of those that cannot be sent."""

import hashlib
import json

import pytest
from pyspark.sql import SparkSession

from pipelines.data.transmit.delivery.record_parser import read
from pipelines.data.transmit.events import Event, Poison
from pipelines.data.transmit.schema import FLAT
from pipelines.data.transmit.transforms import flatten
from shared.contracts import headers as h
from shared.contracts.limits import MAX_HEADERS_BYTES
from tests.spark.events import KAFKA_ROW, event_headers, headers

KEY = hashlib.md5(b"k").digest()
GOOD = [
    *event_headers(),
    *headers({"hifi_pipe": "p1", "hifi_attempt": "2", "content-type": "application/json"}),
]


def flat(spark: SparkSession, *records: tuple[bytes | None, bytes | None, object]) -> list[Event | Poison]:
    rows = [(key, value, "outbound", 1, n, heads) for n, (key, value, heads) in enumerate(records)]
    frame = flatten(spark.createDataFrame(rows, KAFKA_ROW))
    assert frame.columns == list(FLAT)
    return [item for batch in frame.toArrow().to_batches() for item in read(batch)]


def event(item: Event | Poison) -> Event:
    assert isinstance(item, Event)
    return item


def fault(item: Event | Poison) -> str:
    assert isinstance(item, Poison)
    return item.reason


def without(name: str) -> list[tuple[str, str | bytes | None]]:
    return [header for header in GOOD if header[0] != name]


def test_good_record_has_its_columns_and_attributes(spark: SparkSession) -> None:
    row = event(*flat(spark, (KEY, b"{}", [*GOOD, ("hifi_first_try", b"17")])))
    assert (row.pipe, row.id, row.attempt, row.first_try_ms) == ("p1", "e-1", 2, 17)
    assert (row.minute, row.received_ms, row.content_type) == (29453760, 1767225600123, "application/json")
    assert json.loads(row.attributes) == {
        "specversion": "1.0",
        "id": "e-1",
        "source": "/players/7",
        "type": "heartbeat",
        "time": "2026-01-01T00:00:00Z",
        "datacontenttype": "application/json",
    }


def test_event_without_a_content_type_gets_none(spark: SparkSession) -> None:
    row = event(*flat(spark, (KEY, b"{}", without("content-type"))))
    assert row.content_type is None
    assert "datacontenttype" not in json.loads(row.attributes)


def test_the_names_of_very_many_pipes_do_not_make_an_event_oversized(spark: SparkSession) -> None:
    """route writes them on the first pipe's record; no later record of it has them."""
    names = json.dumps([f"{number:063}" for number in range(10_000)]).encode()
    assert len(names) > MAX_HEADERS_BYTES
    row = event(*flat(spark, (KEY, b"{}", [*GOOD, (h.PIPES, names)])))
    assert (row.pipe, row.id) == ("p1", "e-1")


def test_attribute_texts_are_escaped_as_json(spark: SparkSession) -> None:
    odd = 'quote " backslash \\ newline \n emoji \U0001f600 nul \x00'
    row = event(*flat(spark, (KEY, b"{}", [*GOOD, ("ce_odd", odd.encode())])))
    assert json.loads(row.attributes)["odd"] == odd


@pytest.mark.parametrize(
    "name",
    [
        "hifi_tenant",
        "hifi_pipe",
        "ce_id",
        "ce_source",
        "ce_type",
        "hifi_minute",
        "hifi_received",
        "hifi_attempt",
    ],
)
def test_missing_header_is_named(spark: SparkSession, name: str) -> None:
    assert name in fault(*flat(spark, (KEY, b"{}", without(name))))


@pytest.mark.parametrize("value", [b"", b"one", b"1.5x", b"9" * 40, b"\xff", None])
@pytest.mark.parametrize("name", ["hifi_minute", "hifi_received", "hifi_attempt"])
def test_an_invalid_number_is_named(spark: SparkSession, name: str, value: bytes | None) -> None:
    assert name in fault(*flat(spark, (KEY, b"{}", [*without(name), (name, value)])))


@pytest.mark.parametrize("key", [None, b"", b"short", bytes(17)])
def test_a_record_without_a_delivery_key_is_reported(spark: SparkSession, key: bytes | None) -> None:
    assert "key" in fault(*flat(spark, (key, b"{}", GOOD)))


@pytest.mark.parametrize(
    "heads",
    [
        None,
        [],
        [*GOOD, *GOOD],
        [*GOOD, ("ce_bad", b"\xff\xfe")],
        [*GOOD, ("ce_none", None)],
        [*GOOD, ("ce_", b"x"), ("", b"y")],
        [(name, b"\xff") for name, _ in GOOD],
        [(name, None) for name, _ in GOOD],
        [*GOOD, ("ce_big", b"x" * 600_000)],
    ],
)
def test_no_headers_stop_the_partition(spark: SparkSession, heads: object) -> None:
    bad, good = flat(spark, (KEY, None, heads), (KEY, b"{}", GOOD))
    assert isinstance(bad, Poison) or json.loads(bad.attributes)["id"] == "e-1"
    assert isinstance(good, Event)


def test_attempt_counts_from_one(spark: SparkSession) -> None:
    rows = flat(
        spark, *((KEY, b"{}", [*without("hifi_attempt"), ("hifi_attempt", n)]) for n in (b"0", b"-3", b"1"))
    )
    assert [isinstance(row, Poison) for row in rows] == [True, True, False]
