"""ingest's DataFrame functions: bytes stay exactly the same, and no input stops it."""

import base64
import json
from typing import Any

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.data.ingest.transforms import events
from shared.contracts import headers as h
from shared.contracts.envelope import CollectedItem, collected_item, encode_items
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.replay_range import replay_of
from tests.spark.events import (
    ATTRIBUTES,
    KAFKA_ROW,
    STAMPS,
    Headers,
    by_topic,
    header_map,
    headers,
    kafka_rows,
    one_partition,
)
from tests.strategies import json_texts

_COPIED = {name: STAMPS[name] for name in (h.TENANT, h.SOURCE, h.RECEIVED)}
_EVENT: dict[str, Any] = {**ATTRIBUTES, "minute": 7}


def item(data: str | None = None, *, data_base64: str | None = None, **others: str) -> CollectedItem:
    return collected_item(ATTRIBUTES | others, minute=7, data=data, data_base64=data_base64)


@settings(max_examples=5, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(
    texts=st.lists(json_texts(), min_size=60, max_size=60),
    binaries=st.lists(st.binary(), min_size=9, max_size=9),
)
def test_data_keeps_its_bytes(spark: SparkSession, texts: list[str], binaries: list[bytes]) -> None:
    written = [item(text) for text in texts]
    written += [item(data_base64=base64.b64encode(data).decode()) for data in binaries]

    rows = events(kafka_rows(spark, "collected", [(encode_items(written), headers(_COPIED))])).collect()

    assert [bytes(row["value"]) for row in rows] == [text.encode() for text in texts] + binaries


def test_data_that_a_parse_would_change_is_not_parsed(spark: SparkSession) -> None:
    texts = [r'"\ud83d"', '"\u2028\u2029\x7f"', '{"a":1,"a":2}', "1.10", "-0", '"\\u0000"', "x<y"]
    record = (encode_items([item(text) for text in texts]), headers(_COPIED))

    rows = events(kafka_rows(spark, "collected", [record])).collect()

    assert [bytes(row["value"]) for row in rows] == [text.encode() for text in texts]


def test_an_item_becomes_a_record_with_its_attributes_as_headers(spark: SparkSession) -> None:
    others = {"datacontenttype": "text/plain", "subject": "é", "hop": "1"}

    (row,) = events(
        kafka_rows(spark, "collected", [(encode_items([item(**others)]), headers(_COPIED))])
    ).collect()

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


def test_a_bad_item_keeps_the_good_ones_company_no_longer(spark: SparkSession) -> None:
    values = [b"[" + b",".join([_GOOD, bad, _GOOD, bad]) + b"]" for bad in _BAD_ITEMS]

    found = by_topic(events(kafka_rows(spark, "collected", [(value, headers(_COPIED)) for value in values])))

    assert [bytes(row["value"]) for row in found["events"]] == [b"good", b"good"] * len(values)
    assert [bytes(whole["value"]) for whole in found["quarantine"]] == values
    assert [header_map(whole) for whole in found["quarantine"]] == [
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


def test_a_record_that_cannot_be_read_goes_whole_to_quarantine(spark: SparkSession) -> None:
    records = [(value, headers(_COPIED)) for value in _UNREADABLE]

    rows = events(kafka_rows(spark, "collected", records)).collect()

    assert {row["topic"] for row in rows} == {"quarantine"}
    assert [header_map(row)[h.REASON] for row in rows] == list(_UNREADABLE.values())
    assert [None if row["value"] is None else bytes(row["value"]) for row in rows] == list(_UNREADABLE)


def test_a_record_without_its_stamps_goes_to_quarantine(spark: SparkSession) -> None:
    left = [{name: text for name, text in _COPIED.items() if name != missing} for missing in _COPIED]
    records = kafka_rows(spark, "collected", [(b"[" + _GOOD + b"]", headers(stamps)) for stamps in left])

    rows = events(records).collect()

    assert [header_map(row)[h.REASON] for row in rows] == [f"no header {missing}" for missing in _COPIED]


def test_values_too_large_for_quarantine_are_truncated(spark: SparkSession) -> None:
    fat: Headers = [("fat", b"x" * (MAX_HEADERS_BYTES + 1))]
    records: list[tuple[bytes | None, Headers | None]] = [
        (b"[" + b" " * MAX_READABLE_BYTES + b"]", headers(_COPIED)),
        (b"[]", fat),
    ]

    large, heavy = events(kafka_rows(spark, "collected", records)).collect()

    assert len(large["value"]) == MAX_READABLE_BYTES
    assert header_map(large)[h.REASON].startswith("value of ")
    assert header_map(heavy) == {h.REASON: "headers too large, dropped", h.ORIGIN: "collected/0/1"}


@settings(max_examples=3, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(
    ends=st.dictionaries(st.integers(0, 4), st.integers(0, 12)),
    places=st.sets(st.tuples(st.integers(0, 5), st.integers(0, 13)), min_size=30),
)
def test_what_is_processed_again_is_marked_by_partition_and_offset_and_nothing_else_is(
    spark: SparkSession, ends: dict[int, int], places: set[tuple[int, int]]
) -> None:
    replay = replay_of({}, {"collected": {str(partition): end for partition, end in ends.items()}})
    values = (encode_items([item("1"), item("2")]), b"[17]", None)
    records = [
        (None, values[number % 3], "collected", partition, offset, headers({**_COPIED, "place": str(number)}))
        for number, (partition, offset) in enumerate(sorted(places))
    ]
    rows = one_partition(spark, records, KAFKA_ROW)

    marked = [header_map(row) for row in events(rows, replay).collect()]

    wanted = [offset < ends.get(partition, 0) for _, _, _, partition, offset, _ in records]
    copies = [2 if number % 3 == 0 else 1 for number in range(len(records))]
    owed = [each for each, times in zip(wanted, copies, strict=True) for _ in range(times)]
    assert [found.get(h.REPLAY) for found in marked] == [replay.name if each else None for each in owed]


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


@settings(max_examples=5, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(poison=st.lists(_poison(), min_size=80, max_size=80))
def test_no_bytes_raise_or_vanish(spark: SparkSession, poison: list[bytes]) -> None:
    rows = events(kafka_rows(spark, "collected", [(value, headers(_COPIED)) for value in poison])).collect()

    seen = {header_map(row)[h.ORIGIN] for row in rows if row["topic"] == "quarantine"}
    whole = {bytes(row["value"]) for row in rows if row["topic"] == "quarantine"}
    read = sum(row["topic"] == "events" for row in rows)
    unseen = [value for offset, value in enumerate(poison) if f"collected/0/{offset}" not in seen]
    assert whole <= set(poison)
    assert read >= len(unseen)
    assert all(isinstance(json.loads(value), list) for value in unseen)
