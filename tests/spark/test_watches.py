"""Watched fields from an event to the ledger; what a pipe without watches pays."""

import json
from typing import Any

import pytest
from pyspark.sql import SparkSession

from pipelines.control.audit.transforms import rows
from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from pipelines.data.route.watching import MOST_VALUES
from shared.contracts import headers as h
from shared.contracts.document_parsing import parse
from shared.contracts.documents import Pipe
from shared.contracts.field_counts import FieldCounts, number_buckets
from shared.contracts.ledger import Stage, Tally
from shared.contracts.topics import Topic
from tests.spark.audit_records import RECEIVED, Record, audited, by_stage, event, frame
from tests.spark.events import ATTRIBUTES, event_headers, kafka_rows, one_partition

SCORE = {"field": "data.score", "kind": "distribution"}
COUNTRY = {"field": "data.user.country", "kind": "categories"}


def pipe(name: str, *watch: dict[str, str], **more: Any) -> Pipe:
    found = parse(
        {"kind": "pipe", "name": name, "tenant": "acme", "source": "player", "destination": "lake"}
        | {"watch": list(watch)}
        | more
    )
    assert isinstance(found, Pipe)
    return found


def routed(spark: SparkSession, values: list[bytes], *pipes: Pipe) -> list[Record]:
    """The `outbound` records of events with these data."""
    events = [
        (value, event_headers({**ATTRIBUTES, "id": f"e{at}"}, hifi_received=str(RECEIVED)))
        for at, value in enumerate(values)
    ]
    sources = one_partition(spark, [source_row(("acme", "player"), pipes, 0)], SOURCE_ROW)
    written = outbound(kafka_rows(spark, "events", events), sources).collect()
    return [
        Record(Topic(row["topic"]), bytes(row["value"]), [tuple(each) for each in row["headers"]])
        for row in written
        if row["topic"] == Topic.OUTBOUND
    ]


def tallies(spark: SparkSession, records: list[Record]) -> dict[tuple[Stage, str], Tally]:
    return {(t.stage, t.name): t for found in by_stage(audited(spark, *records)).values() for t in found}


def buckets(*values: float) -> dict[int, int]:
    found: dict[int, int] = {}
    for value in values:
        bucket = int(number_buckets(value)[()])  # type: ignore[arg-type]
        found[bucket] = found.get(bucket, 0) + 1
    return found


DATA = [
    {"score": 0.5, "user": {"country": "DE"}},
    {"score": 0.5, "user": {"country": "DE"}},
    {"score": -1e6, "user": [{"country": "US"}, {"country": True}]},
    {"score": 0, "user": {"country": None}},
    {"score": "high", "user": "nobody"},
    {"score": [1, 2, "x"]},
]


@pytest.fixture(scope="module")
def found(spark: SparkSession) -> dict[tuple[Stage, str], Tally]:
    """The tallies of DATA and of data that is no JSON, for three pipes, two of which watch."""
    values = [json.dumps(each).encode() for each in DATA] + [b"no JSON"]
    pipes = pipe("both", SCORE, COUNTRY), pipe("none"), pipe("score", SCORE, match={"data": {"score": [0.5]}})
    return tallies(spark, routed(spark, values, *pipes))


def test_numbers_reach_the_ledger_exactly(found: dict[tuple[Stage, str], Tally]) -> None:
    counts = found[Stage.FIRST, "both"].watched["data.score", "distribution"]
    assert counts == FieldCounts(events=7, missing=2, numbers=buckets(0.5, 0.5, -1e6, 0, 1, 2))


def test_categories_reach_the_ledger_exactly(found: dict[tuple[Stage, str], Tally]) -> None:
    counts = found[Stage.FIRST, "both"].watched["data.user.country", "categories"]
    assert counts == FieldCounts(events=7, missing=4, texts={"DE": 2, "US": 1, "true": 1})


def test_a_further_pipe_counts_what_it_takes_and_one_without_watches_nothing(
    found: dict[tuple[Stage, str], Tally],
) -> None:
    counts = found[Stage.FURTHER, "score"].watched
    assert counts == {("data.score", "distribution"): FieldCounts(events=2, numbers=buckets(0.5, 0.5))}
    assert found[Stage.FURTHER, "none"].watched == {}
    assert all(not tally.watched for (stage, _), tally in found.items() if stage is Stage.CLAIMED)


def test_long_texts_and_long_arrays_are_cut(spark: SparkSession) -> None:
    value = json.dumps({"user": {"country": ["é" * 1_000, *map(str, range(100))]}}).encode()
    (record,) = routed(spark, [value], pipe("both", COUNTRY))
    counts = tallies(spark, [record])[Stage.FIRST, "both"].watched["data.user.country", "categories"]
    assert counts.texts == {"é" * 64: 1} | {str(number): 1 for number in range(MOST_VALUES - 1)}


def test_a_pipe_without_watches_has_the_headers_that_it_had(spark: SparkSession) -> None:
    """Beside one that watches, and where none does."""
    value = b'{"score": 1}'
    beside = routed(spark, [value], pipe("none"), pipe("score", SCORE))
    alone = routed(spark, [value], pipe("none"), pipe("other"))
    named = {dict(each.headers)[h.PIPE]: {key for key, _ in each.headers} for each in beside}
    assert h.WATCHED not in named[b"none"]
    assert named[b"score"] == named[b"none"] | {h.WATCHED}
    assert all({key for key, _ in each.headers} == named[b"none"] for each in alone)


def test_only_what_is_watched_reaches_python(spark: SparkSession) -> None:
    """An empty list for everything else (see `schema.ROWS`), and never the event's data."""
    plain = [
        event(Topic.OUTBOUND, hifi_pipe="p"),
        event(Topic.EVENTS),
        event(Topic.EVENTS, hifi_watched="[]"),
    ]
    arrow = rows(frame(spark, plain)).toArrow()
    assert arrow["watched"].to_pylist() == [[]] * len(plain)
    assert not {"value", "data"} & set(arrow.column_names)


UNREADABLE = ["", "{", "7", '[{"field": 7}]', '[{"field":"data.a","kind":"odd","values":["1"]}]', "[null]"]


def test_a_header_that_cannot_be_read_counts_nothing(spark: SparkSession) -> None:
    records = [event(Topic.OUTBOUND, text, hifi_pipe="p", hifi_watched=text) for text in UNREADABLE]
    tally = tallies(spark, records)[Stage.FIRST, "p"]
    assert (tally.count, tally.watched) == (len(UNREADABLE), {})


def test_a_replayed_dead_letter_counts_no_values_again(spark: SparkSession) -> None:
    (first,) = routed(spark, [b'{"score": 1}'], pipe("score", SCORE))
    letter = Record(Topic.OUTBOUND, first.value, [*first.headers, (h.LETTER, b"0/1")])
    assert tallies(spark, [letter])[Stage.LETTER, "score"].watched == {}
