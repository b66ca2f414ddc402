"""Outbound records as flat columns, and the problems of records that cannot be sent."""

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
from tests.spark.events import KAFKA_ROW, event_headers, headers, one_partition

KEY = hashlib.md5(b"k").digest()
GOOD = [
    *event_headers(),
    *headers({"hifi_pipe": "p1", "hifi_attempt": "2", "content-type": "application/json"}),
]


Record = tuple[bytes | None, bytes | None, object]
"""Key, value and headers."""


@pytest.fixture(scope="module")
def flat(spark: SparkSession, given: dict[str, tuple[Record, ...]]) -> dict[str, list[Event | Poison]]:
    """Events or problems read from each test's records."""
    records = [record for test in given.values() for record in test]
    rows = [(key, value, "outbound", 1, n, heads) for n, (key, value, heads) in enumerate(records)]
    frame = flatten(one_partition(spark, rows, KAFKA_ROW))
    assert frame.columns == list(FLAT)
    found = [item for batch in frame.toArrow().to_batches() for item in read(batch)]
    assert len(found) == len(records)
    items = iter(found)
    return {test: [next(items) for _ in of_test] for test, of_test in given.items()}


@pytest.fixture
def items(flat: dict[str, list[Event | Poison]], request: pytest.FixtureRequest) -> list[Event | Poison]:
    """The item read from each record in the test's mark `given`."""
    return flat[request.node.nodeid]


def event(item: Event | Poison) -> Event:
    assert isinstance(item, Event)
    return item


def faults(items: list[Event | Poison]) -> list[str]:
    return [item.reason if isinstance(item, Poison) else "" for item in items]


def without(name: str) -> list[tuple[str, str | bytes | None]]:
    return [header for header in GOOD if header[0] != name]


@pytest.mark.given((KEY, b"{}", [*GOOD, ("hifi_first_try", b"17")]))
def test_good_record_has_its_columns_and_attributes(items: list[Event | Poison]) -> None:
    row = event(*items)
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


@pytest.mark.given((KEY, b"{}", without("content-type")))
def test_event_without_a_content_type_gets_none(items: list[Event | Poison]) -> None:
    row = event(*items)
    assert row.content_type is None
    assert "datacontenttype" not in json.loads(row.attributes)


_NAMES = json.dumps([f"{number:063}" for number in range(10_000)]).encode()


@pytest.mark.given((KEY, b"{}", [*GOOD, (h.PIPES, _NAMES)]))
def test_the_names_of_very_many_pipes_do_not_make_an_event_oversized(items: list[Event | Poison]) -> None:
    """route writes them on the first pipe's record only."""
    assert len(_NAMES) > MAX_HEADERS_BYTES
    row = event(*items)
    assert (row.pipe, row.id) == ("p1", "e-1")


_ODD = 'quote " backslash \\ newline \n emoji \U0001f600 nul \x00'


@pytest.mark.given((KEY, b"{}", [*GOOD, ("ce_odd", _ODD.encode())]))
def test_attribute_texts_are_escaped_as_json(items: list[Event | Poison]) -> None:
    row = event(*items)
    assert json.loads(row.attributes)["odd"] == _ODD


_NUMBERS = ["hifi_minute", "hifi_received", "hifi_attempt"]
_REQUIRED = ["hifi_tenant", "hifi_pipe", "ce_id", "ce_source", "ce_type", *_NUMBERS]


@pytest.mark.given(*((KEY, b"{}", without(name)) for name in _REQUIRED))
def test_missing_header_is_named(items: list[Event | Poison]) -> None:
    found = zip(_REQUIRED, faults(items), strict=True)
    assert [(name, fault) for name, fault in found if name not in fault] == []


_INVALID = [(name, value) for name in _NUMBERS for value in (b"", b"one", b"1.5x", b"9" * 40, b"\xff", None)]


@pytest.mark.given(*((KEY, b"{}", [*without(name), (name, value)]) for name, value in _INVALID))
def test_an_invalid_number_is_named(items: list[Event | Poison]) -> None:
    found = zip(_INVALID, faults(items), strict=True)
    assert [(given, fault) for given, fault in found if given[0] not in fault] == []


_NO_KEYS = [None, b"", b"short", bytes(17)]


@pytest.mark.given(*((key, b"{}", GOOD) for key in _NO_KEYS))
def test_a_record_without_a_delivery_key_is_reported(items: list[Event | Poison]) -> None:
    found = zip(_NO_KEYS, faults(items), strict=True)
    assert [(key, fault) for key, fault in found if "key" not in fault] == []


_STRANGE: list[object] = [
    None,
    [],
    [*GOOD, *GOOD],
    [*GOOD, ("ce_bad", b"\xff\xfe")],
    [*GOOD, ("ce_none", None)],
    [*GOOD, ("ce_", b"x"), ("", b"y")],
    [(name, b"\xff") for name, _ in GOOD],
    [(name, None) for name, _ in GOOD],
    [*GOOD, ("ce_big", b"x" * 600_000)],
]


@pytest.mark.given(*(record for heads in _STRANGE for record in ((KEY, None, heads), (KEY, b"{}", GOOD))))
def test_no_headers_stop_the_partition(items: list[Event | Poison]) -> None:
    for heads, bad, good in zip(_STRANGE, items[::2], items[1::2], strict=True):
        assert isinstance(bad, Poison) or json.loads(bad.attributes)["id"] == "e-1", heads
        assert isinstance(good, Event), heads


@pytest.mark.given(
    *((KEY, b"{}", [*without("hifi_attempt"), ("hifi_attempt", n)]) for n in (b"0", b"-3", b"1"))
)
def test_attempt_counts_from_one(items: list[Event | Poison]) -> None:
    assert [isinstance(item, Poison) for item in items] == [True, True, False]
