"""ingest's DataFrame functions leave bytes exactly as they are, and no input stops them."""

import base64
import json
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from pyspark.sql import Row, SparkSession

from pipelines.data.ingest.transforms import events, replay_mark
from shared.contracts import headers as h
from shared.contracts.envelope import CollectedItem, collected_item, encode_items
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.replay_range import replay_of
from shared.contracts.topics import Topic
from tests.spark.events import (
    ATTRIBUTES,
    KAFKA_ROW,
    STAMPS,
    Given,
    Headers,
    by_case,
    header_map,
    headers,
    one_partition,
)
from tests.spark.patterns import drawn
from tests.strategies import json_texts

_TEXTS, _BINARIES = 300, 45
_DRAWN_POISON = 400

_COPIED = {name: STAMPS[name] for name in (h.TENANT, h.SOURCE, h.RECEIVED)}
_EVENT: dict[str, Any] = {**ATTRIBUTES, "minute": 7}


def item(data: str | None = None, *, data_base64: str | None = None, **others: str) -> CollectedItem:
    return collected_item(ATTRIBUTES | others, minute=7, data=data, data_base64=data_base64)


class Parsed(NamedTuple):
    """Records given to ingest, and its output."""

    records: list[Given]
    rows: list[Row]


@pytest.fixture(scope="module")
def texts() -> list[str]:
    return drawn(json_texts(), _TEXTS)


@pytest.fixture(scope="module")
def binaries() -> list[bytes]:
    return drawn(st.binary(), _BINARIES)


@pytest.fixture(scope="module")
def parsed(
    spark: SparkSession, given: dict[str, tuple[list[Given]]], texts: list[str], binaries: list[bytes]
) -> dict[str, Parsed]:
    """The parsed records of each test."""
    written = [item(text) for text in texts]
    written += [item(data_base64=base64.b64encode(data).decode()) for data in binaries]
    poison: list[Given] = [(value, headers(_COPIED)) for value in drawn(_poison(), _DRAWN_POISON)]
    any_data: list[Given] = [(encode_items(written), headers(_COPIED))]
    cases = {test: records for test, (records,) in given.items()} | {_ANY_DATA: any_data, _ANY: poison}
    found = by_case(spark, Topic.COLLECTED, list(cases.values()), events)
    return dict(zip(cases, map(Parsed, cases.values(), found), strict=True))


@pytest.fixture
def rows(parsed: dict[str, Parsed], request: pytest.FixtureRequest) -> list[Row]:
    """The rows made of the records in the test's mark `given`."""
    return parsed[request.node.nodeid].rows


def of_topic(rows: list[Row], topic: Topic) -> list[Row]:
    return [row for row in rows if row["topic"] == topic]


_ANY_DATA = "any data"


def test_data_keeps_its_bytes(parsed: dict[str, Parsed], texts: list[str], binaries: list[bytes]) -> None:
    written = [text.encode() for text in texts] + binaries
    assert [bytes(row["value"]) for row in parsed[_ANY_DATA].rows] == written


_CHANGED_BY_PARSING = [r'"\ud83d"', '"\u2028\u2029\x7f"', '{"a":1,"a":2}', "1.10", "-0", '"\\u0000"', "x<y"]


@pytest.mark.given([(encode_items([item(text) for text in _CHANGED_BY_PARSING]), headers(_COPIED))])
def test_data_that_a_parse_would_change_is_not_parsed(rows: list[Row]) -> None:
    assert [bytes(row["value"]) for row in rows] == [text.encode() for text in _CHANGED_BY_PARSING]


_OTHERS = {"datacontenttype": "text/plain", "subject": "é", "hop": "1"}


@pytest.mark.given([(encode_items([item(**_OTHERS)]), headers(_COPIED))])
def test_an_item_becomes_a_record_with_its_attributes_as_headers(rows: list[Row]) -> None:
    (row,) = rows
    assert row["topic"] == "events"
    assert row["value"] is None
    assert header_map(row) == {
        **{f"ce_{name}": text for name, text in ATTRIBUTES.items()},
        "ce_specversion": "1.0",
        "ce_subject": "é",
        "ce_hop": "1",
        "content-type": "text/plain",
        **_COPIED,
        "hifi_minute": "7",
    }


_GOOD = json.dumps({**_EVENT, "data": "good"}).encode()


_BAD_ITEMS = {
    b'{"minute": 7, "data": "x"}': "no id",
    _GOOD.replace(b'"source": "/players/7"', b'"source": null'): "no source",
    _GOOD.replace(b'"minute": 7', b'"minute": "soon"'): "no minute",
    _GOOD.replace(b'"data": "good"', b'"data_base64": "*"'): "data_base64 is not base64",
    b"17": "no id",
    b"null": "no id",
    b"[]": "no id",
}


_MIXED = [b"[" + b",".join([_GOOD, bad, _GOOD, bad]) + b"]" for bad in _BAD_ITEMS]


@pytest.mark.given([(value, headers(_COPIED)) for value in _MIXED])
def test_a_bad_item_keeps_the_good_ones_company_no_longer(rows: list[Row]) -> None:
    good, wholes = of_topic(rows, Topic.EVENTS), of_topic(rows, Topic.QUARANTINE)
    assert [bytes(row["value"]) for row in good] == [b"good", b"good"] * len(_MIXED)
    assert [bytes(whole["value"]) for whole in wholes] == _MIXED
    assert [header_map(whole) for whole in wholes] == [
        {**_COPIED, h.REASON: f"item 1: {reason}", h.ORIGIN: f"collected/0/{n}"}
        for n, reason in enumerate(_BAD_ITEMS.values())
    ]


_UNREADABLE = {
    None: "no value",
    b"": "not a JSON array of events",
    b"{}": "not a JSON array of events",
    _GOOD: "not a JSON array of events",
    b"[" + _GOOD + b"] [": "not a JSON array of events",
    b"[" + _GOOD + b"][" + _GOOD + b"]": "not a JSON array of events",
    b"[" + _GOOD + b"]},[" + _GOOD + b"]": "not a JSON array of events",
    b"\t" + _GOOD + b"," + _GOOD + b"]": "not a JSON array of events",
    b"[" + _GOOD + b",]]": "not a JSON array of events",
    b"[]": "not a JSON array of events",
    b"[\xff]": "not UTF-8",
    b"[" * 5_000 + b"]" * 5_000: "not a JSON array of events",
}


@pytest.mark.given([(value, headers(_COPIED)) for value in _UNREADABLE])
def test_a_record_that_cannot_be_read_goes_whole_to_quarantine(rows: list[Row]) -> None:
    assert {row["topic"] for row in rows} == {"quarantine"}
    assert [header_map(row)[h.REASON] for row in rows] == list(_UNREADABLE.values())
    assert [None if row["value"] is None else bytes(row["value"]) for row in rows] == list(_UNREADABLE)


_LEFT = [{name: text for name, text in _COPIED.items() if name != missing} for missing in _COPIED]


@pytest.mark.given([(b"[" + _GOOD + b"]", headers(stamps)) for stamps in _LEFT])
def test_a_record_without_its_stamps_goes_to_quarantine(rows: list[Row]) -> None:
    assert [header_map(row)[h.REASON] for row in rows] == [f"no header {missing}" for missing in _COPIED]


_FAT: Headers = [("fat", b"x" * (MAX_HEADERS_BYTES + 1))]


@pytest.mark.given([(b"[" + b" " * MAX_READABLE_BYTES + b"]", headers(_COPIED)), (b"[]", _FAT)])
def test_values_too_large_for_quarantine_are_truncated(rows: list[Row]) -> None:
    large, heavy = rows
    assert len(large["value"]) == MAX_READABLE_BYTES
    assert header_map(large)[h.REASON].startswith("value of ")
    assert header_map(heavy) == {h.REASON: "headers too large, dropped", h.ORIGIN: "collected/0/1"}


_ENDS = {partition: partition % 13 for partition in range(0, 26, 2)}
"""Every second partition has an end: any of 0 to 12."""


def test_what_is_processed_again_is_marked_by_partition_and_offset_and_nothing_else_is(
    spark: SparkSession,
) -> None:
    replay = replay_of({}, {"collected": {str(partition): end for partition, end in _ENDS.items()}})
    values = (encode_items([item("1"), item("2")]), b"[17]", None)
    places = [(partition, offset) for partition in range(28) for offset in range(14)]
    records = [
        (None, values[number % 3], "collected", partition, offset, headers({**_COPIED, "place": str(number)}))
        for number, (partition, offset) in enumerate(places)
    ]
    rows = one_partition(spark, records, KAFKA_ROW)

    marked = [header_map(row) for row in events(rows, replay).collect()]

    wanted = [offset < _ENDS.get(partition, 0) for _, _, _, partition, offset, _ in records]
    copies = [2 if number % 3 == 0 else 1 for number in range(len(records))]
    owed = [each for each, times in zip(wanted, copies, strict=True) for _ in range(times)]
    assert [found.get(h.REPLAY) for found in marked] == [replay.name if each else None for each in owed]


def test_a_replay_without_records_marks_none(spark: SparkSession) -> None:
    row = one_partition(spark, [(None, b"", "collected", 0, 0, None)], KAFKA_ROW)
    assert [found[0] for found in row.select(replay_mark(replay_of({}, {"collected": {}}))).collect()] == [[]]


def _poison() -> st.SearchStrategy[bytes]:
    """Any bytes, and values similar to what collect writes."""
    valid = st.lists(st.just(item('{"a":1}')), min_size=1, max_size=3).map(encode_items)
    cut = st.tuples(valid, st.integers(0, 200)).map(lambda pair: pair[0][: pair[1]])
    swapped = st.tuples(valid, st.integers(0, 100), st.binary(min_size=1, max_size=2)).map(
        lambda t: t[0][: t[1]] + t[2] + t[0][t[1] + 1 :]
    )
    other = json_texts().map(
        lambda text: f'[{{"id":{text},"headers":{text},"minute":{text},"data":{text}}}]'.encode()
    )
    return st.one_of(st.binary(max_size=60), cut, swapped, other, json_texts().map(str.encode))


_ANY = "any bytes"


def test_no_bytes_raise_or_vanish(parsed: dict[str, Parsed]) -> None:
    records, rows = parsed[_ANY]
    poison = [value for value, _ in records]
    quarantined = of_topic(rows, Topic.QUARANTINE)
    seen = {header_map(row)[h.ORIGIN] for row in quarantined}
    whole = {bytes(row["value"]) for row in quarantined}
    unseen = [value for offset, value in enumerate(poison) if f"collected/0/{offset}" not in seen]
    assert whole <= set(poison)
    assert len(of_topic(rows, Topic.EVENTS)) >= len(unseen)
    assert all(isinstance(json.loads(value or b""), list) for value in unseen)
