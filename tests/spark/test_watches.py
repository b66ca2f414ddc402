"""Watched fields from an event to the ledger, and pipes without watches unchanged."""

import json
from dataclasses import replace
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
from tests.spark.events import ATTRIBUTES, event_headers, header_map, kafka_rows, one_partition

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


Tallies = dict[tuple[Stage, str], Tally]
"""By stage and name."""


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


LONG = {"user": {"country": ["é" * 1_000, *map(str, range(100))]}}
VALUE = b'{"score": 1}'
SOURCES: dict[str, tuple[list[bytes], list[Pipe]]] = {
    "data": (
        [*(json.dumps(each).encode() for each in DATA), b"no JSON"],
        [pipe("both", SCORE, COUNTRY), pipe("none"), pipe("score", SCORE, match={"data": {"score": [0.5]}})],
    ),
    "long": ([json.dumps(LONG).encode()], [pipe("both", COUNTRY)]),
    "beside": ([VALUE], [pipe("none"), pipe("score", SCORE)]),
    "alone": ([VALUE], [pipe("none"), pipe("other")]),
    "replayed": ([VALUE], [pipe("score", SCORE)]),
    "several": (
        [b'{"score": 7, "user": {"country": "DE"}, "tags": [%b]}' % b",".join([b'"x"'] * 10_000)],
        [
            pipe("country", COUNTRY, match={"data": {"score": [7]}}),
            pipe("other", SCORE, match={"type": ["other"]}),
            pipe("tags", {"field": "data.tags", "kind": "categories"}, SCORE),
            pipe("none", match={"data": {"user": {"country": ["DE"]}}}),
            pipe("again", COUNTRY, {"field": "data.gone", "kind": "categories"}),
        ],
    ),
}
"""The data of the events of each source, and its pipes."""

UNREADABLE = ["", "{", "7", '[{"field": 7}]', '[{"field":"data.a","kind":"odd","values":["1"]}]', "[null]"]


@pytest.fixture(scope="module")
def routed(spark: SparkSession) -> dict[str, list[Record]]:
    """The `outbound` records of each source."""
    events = [
        (value, event_headers({**ATTRIBUTES, "id": f"e{at}"}, hifi_source=name, hifi_received=str(RECEIVED)))
        for name, (values, _) in SOURCES.items()
        for at, value in enumerate(values)
    ]
    sources = [source_row(("acme", name), pipes, 0) for name, (_, pipes) in SOURCES.items()]
    written = outbound(kafka_rows(spark, "events", events), one_partition(spark, sources, SOURCE_ROW))
    found: dict[str, list[Record]] = {}
    for row in written.collect():
        if row["topic"] == Topic.OUTBOUND:
            record = Record(Topic.OUTBOUND, bytes(row["value"]), [tuple(each) for each in row["headers"]])
            found.setdefault(header_map(row)[h.SOURCE], []).append(record)
    return found


@pytest.fixture(scope="module")
def counted(spark: SparkSession, routed: dict[str, list[Record]]) -> dict[str, Tallies]:
    """The tallies of each source's outcomes, of replayed dead letters and of unreadable headers."""
    letters = [replace(each, headers=[*each.headers, (h.LETTER, b"0/1")]) for each in routed["replayed"]]
    unreadable = [event(Topic.OUTBOUND, text, hifi_pipe="p", hifi_watched=text) for text in UNREADABLE]
    cases = routed | {"replayed": letters, "unreadable": unreadable}
    ledgers = zip(cases, audited(spark, list(cases.values())), strict=True)
    return {
        name: {(t.stage, t.name): t for found in by_stage(ledger).values() for t in found}
        for name, ledger in ledgers
    }


@pytest.fixture
def found(counted: dict[str, Tallies]) -> Tallies:
    """The tallies of DATA and of data that is not JSON, for three pipes, two of which watch."""
    return counted["data"]


def test_numbers_reach_the_ledger_exactly(found: Tallies) -> None:
    counts = found[Stage.FIRST, "both"].watched["data.score", "distribution"]
    assert counts == FieldCounts(events=7, missing=2, numbers=buckets(0.5, 0.5, -1e6, 0, 1, 2))


def test_categories_reach_the_ledger_exactly(found: Tallies) -> None:
    counts = found[Stage.FIRST, "both"].watched["data.user.country", "categories"]
    assert counts == FieldCounts(events=7, missing=4, texts={"DE": 2, "US": 1, "true": 1})


def test_a_further_pipe_counts_what_it_takes_and_one_without_watches_nothing(found: Tallies) -> None:
    counts = found[Stage.FURTHER, "score"].watched
    assert counts == {("data.score", "distribution"): FieldCounts(events=2, numbers=buckets(0.5, 0.5))}
    assert found[Stage.FURTHER, "none"].watched == {}
    assert all(not tally.watched for (stage, _), tally in found.items() if stage is Stage.CLAIMED)


def test_long_texts_and_long_arrays_are_cut(counted: dict[str, Tallies]) -> None:
    counts = counted["long"][Stage.FIRST, "both"].watched["data.user.country", "categories"]
    assert counts.texts == {"é" * 64: 1} | {str(number): 1 for number in range(MOST_VALUES - 1)}


def test_a_pipe_without_watches_has_the_headers_that_it_had(routed: dict[str, list[Record]]) -> None:
    """Both beside a pipe that watches, and without any such pipe."""
    named = {dict(each.headers)[h.PIPE]: {key for key, _ in each.headers} for each in routed["beside"]}
    assert h.WATCHED not in named[b"none"]
    assert named[b"score"] == named[b"none"] | {h.WATCHED}
    assert [{key for key, _ in each.headers} for each in routed["alone"]] == [named[b"none"]] * 2


def texts(record: Record) -> dict[str, str]:
    """The headers of a record."""
    return {key: value.decode() for key, value in record.headers if isinstance(value, bytes)}


def test_each_of_several_pipes_has_the_values_of_its_own_fields(routed: dict[str, list[Record]]) -> None:
    heads = [texts(each) for each in routed["several"]]
    seen = {
        each[h.PIPE]: {found["field"]: found["values"] for found in json.loads(each.get(h.WATCHED, "[]"))}
        for each in heads
    }
    assert seen == {
        "country": {"data.user.country": ['"DE']},
        "tags": {"data.tags": ['"x'] * MOST_VALUES, "data.score": ["7"]},
        "none": {},
        "again": {"data.user.country": ['"DE'], "data.gone": []},
    }
    assert [h.WATCHED in each for each in heads] == [each[h.PIPE] != "none" for each in heads]


def test_only_what_is_watched_reaches_python(spark: SparkSession) -> None:
    """An empty list stands for everything else (see `schema.ROWS`); the event's data never reaches it."""
    plain = [
        event(Topic.OUTBOUND, hifi_pipe="p"),
        event(Topic.EVENTS),
        event(Topic.EVENTS, hifi_watched="[]"),
    ]
    arrow = rows(frame(spark, plain)).toArrow()
    assert arrow["watched"].to_pylist() == [[]] * len(plain)
    assert not {"value", "data"} & set(arrow.column_names)


def test_a_header_that_cannot_be_read_counts_nothing(counted: dict[str, Tallies]) -> None:
    tally = counted["unreadable"][Stage.FIRST, "p"]
    assert (tally.count, tally.watched) == (len(UNREADABLE), {})


def test_a_replayed_dead_letter_counts_no_values_again(
    routed: dict[str, list[Record]], counted: dict[str, Tallies]
) -> None:
    (first,) = routed["replayed"]
    assert h.WATCHED in dict(first.headers), "it would count"
    assert counted["replayed"][Stage.LETTER, "score"].watched == {}
