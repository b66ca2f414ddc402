"""Events that are costly to match delay neither other events nor route, whatever makes them costly.

Events that only seem costly are routed, in seconds.
"""

import json
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pytest
from pyspark.sql import Row, SparkSession
from pyspark.sql import functions as fn

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.matching_steps import may_be_costly
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.limits import MAX_ATTRIBUTE_BYTES, MAX_EVENT_BYTES
from shared.contracts.matching_steps import TOO_COSTLY
from shared.contracts.patterns import compile_pattern
from shared.matching.evaluator import TooManyComparisonsError, first_unmet
from shared.matching.event_values import EventValues
from tests.spark.events import ATTRIBUTES, Given, event_headers, header_map, kafka_rows, one_partition

SECONDS: Final = 120
"""Limit for all events below; without it most of them take longer, and some take hours."""

SECONDS_OF_ONE: Final = 10
"""Limit for one routed event, including a query's start; some of them once took a minute."""

NAMES: Final = [f"n{number}" for number in range(5_000)]
ABSENT: Final = {name: [{"exists": False}] for name in NAMES}
DEPTH: Final = 100


class Costly(NamedTuple):
    """A pattern, an event that is costly to compare with it, and another event that matches."""

    pattern: dict[str, Any]
    event: dict[str, Any] | bytes
    topic: str
    """Topic of the costly event."""

    taken: dict[str, Any]


def nested(inner: Any) -> Any:
    for _ in range(DEPTH):
        inner = {"a": inner}
    return inner


SEEMING: Final[Mapping[str, Costly]] = {
    "many levels, many names at the last": Costly(
        nested({f"n{number}": [{"exists": False}] for number in range(9_000)}),
        nested({"m": 1}),
        "outbound",
        {},
    ),
    "a long text, many levels that it lacks": Costly(
        nested([{"exists": False}]),
        {"x": "v" * 500_000},
        "outbound",
        {},
    ),
    "many elements beside many names": Costly(
        {"a": {name: [{"exists": False}] for name in NAMES[:1_500]}},
        {"a": {"x": [1] * 250_000}},
        "outbound",
        {},
    ),
    "a long text, many suffixes": Costly(
        {"x": [{"suffix": [f"s{number}" for number in range(50_000)]}]},
        {"x": "v" * 500_000},
        "unmatched",
        {"x": "a s49999"},
    ),
    "many texts, some bounds": Costly(
        {"x": [{"numeric": [">", number]} for number in range(5)]},
        {"x": [""] * 174_000},
        "unmatched",
        {"x": ["", 1e3]},
    ),
    "a long text, many bounds": Costly(
        {"x": [{"numeric": [">", number]} for number in range(50_000)]},
        {"x": "v" * 500_000},
        "unmatched",
        {"x": 50_001},
    ),
    "a table, many names": Costly(
        {name: [{"exists": True}] for name in NAMES},
        b"a,b\n" * 125_000,
        "unmatched",
        dict.fromkeys(NAMES, 1),
    ),
}
"""Events that only seem to need many look-ups."""

CASES: Final[Mapping[str, Costly]] = {
    "many texts, many prefixes": Costly(
        {"x": [{"prefix": [f"p{number}" for number in range(5_000)]}]},
        {"x": [f"v{number}" for number in range(50_000)]},
        "quarantine",
        {"x": "p4999"},
    ),
    "many texts, many wildcards": Costly(
        {"x": [{"wildcard": [f"*p{number}*" for number in range(1_000)]}]},
        {"x": [f"v{number}" for number in range(50_000)]},
        "quarantine",
        {"x": "a p999 b"},
    ),
    "a long text, without regard to case": Costly(
        {"x": [{"equals-ignore-case": [f"p{number}" for number in range(1_000)]}]},
        {"x": "V" * 500_000},
        "quarantine",
        {"x": "P999"},
    ),
    "many fractions, many numbers": Costly(
        {"x": [*range(30_000)]},
        {"x": [number + 0.5 for number in range(50_000)]},
        "unmatched",
        {"x": 29_999.0},
    ),
    "many members, many names": Costly(
        {"a": ABSENT},
        {"a": {f"m{number}": 1 for number in range(40_000)}},
        "quarantine",
        {},
    ),
    "many objects, many names": Costly(
        {"a": ABSENT},
        {"a": [{"m": 1}] * 50_000},
        "quarantine",
        {},
    ),
    "many members at the top, many names": Costly(
        ABSENT,
        {f"m{number}": 1 for number in range(40_000)},
        "quarantine",
        {},
    ),
    "a long text far below, many names": Costly(
        nested(ABSENT),
        nested({"m": "v" * 500_000}),
        "quarantine",
        {},
    ),
    "much that no pattern looks at": Costly(
        {"x": [{"prefix": [f"p{number}" for number in range(5_000)]}]},
        {"x": "v", "other": [*range(80_000)]},
        "unmatched",
        {"x": "p1", "other": "v" * 500_000},
    ),
    "much that a pattern of few comparisons looks at": Costly(
        {"x": [{"prefix": ["p", "q"]}, {"numeric": [">", 1_000_000]}]},
        {"x": [*range(80_000)]},
        "unmatched",
        {"x": [*range(80_000), 1_000_001]},
    ),
    "a long text, wildcards that repeat their beginning": Costly(
        {"x": [{"wildcard": ["*" + "a" * 997 + "b*"] * 199}]},
        {"x": "a" * 500_000},
        "quarantine",
        {"x": "a" * 997 + "b"},
    ),
    "many numbers, a long operand without regard to case": Costly(
        {"x": [{"equals-ignore-case": "p" * 200_000}]},
        {"x": [1] * 200_000},
        "quarantine",
        {"x": "P" * 200_000},
    ),
    **SEEMING,
}


def encoded(data: Any) -> bytes:
    found = data if isinstance(data, bytes) else json.dumps(data, separators=(",", ":")).encode()
    assert len(found) <= MAX_EVENT_BYTES
    return found


class Routed(NamedTuple):
    """By case the rows of its costly event and of the next one, and the seconds for all of them."""

    rows: Mapping[str, tuple[Row, Row]]
    seconds: float


def rows_of(spark: SparkSession, pipes: list[Pipe], records: list[Given]) -> list[Row]:
    """The rows that route makes of records, with these pipes."""
    by_source: dict[str, list[Pipe]] = {}
    for pipe in pipes:
        by_source.setdefault(pipe.source, []).append(pipe)
    rows = [source_row(("acme", source), its_pipes, 0) for source, its_pipes in by_source.items()]
    sources = one_partition(spark, rows, SOURCE_ROW)
    return outbound(kafka_rows(spark, "events", records), sources).collect()


def pipe_of(source: str, name: str = "p", **match: Any) -> Pipe:
    return Pipe(name=name, tenant="acme", source=source, destination="d", match=match)


def record(source: str, data: Any, **attributes: str) -> Given:
    return encoded(data), event_headers({**ATTRIBUTES, **attributes}, hifi_source=source)


@pytest.fixture(scope="module")
def routed(spark: SparkSession) -> Routed:
    pipes = [pipe_of(name, data=case.pattern) for name, case in CASES.items()]
    records = [record(name, data) for name, case in CASES.items() for data in (case.event, case.taken)]
    began = time.monotonic()
    rows = rows_of(spark, pipes, records)
    took = time.monotonic() - began
    assert len(rows) == len(records)
    return Routed(dict(zip(CASES, zip(rows[::2], rows[1::2], strict=True), strict=True)), took)


@pytest.mark.parametrize("name", CASES)
def test_a_costly_event_goes_where_it_should_and_the_next_one_is_routed(routed: Routed, name: str) -> None:
    costly, after = routed.rows[name]
    assert (costly["topic"], after["topic"]) == (CASES[name].topic, "outbound")


@pytest.mark.parametrize("name", [name for name, case in CASES.items() if case.topic == "quarantine"])
def test_one_in_quarantine_is_whole_and_names_the_reason(routed: Routed, name: str) -> None:
    costly, _ = routed.rows[name]
    heads = header_map(costly)
    assert (bytes(costly["value"]), costly["key"]) == (encoded(CASES[name].event), None)
    assert (heads[h.REASON], heads[h.SOURCE], heads[h.CE_ID]) == (TOO_COSTLY, name, ATTRIBUTES["id"])
    assert "1,000,000 comparisons" in heads[h.REASON]


def test_routing_all_costly_events_takes_a_bounded_time(routed: Routed) -> None:
    assert routed.seconds < SECONDS


@pytest.mark.parametrize("name", CASES)
def test_the_api_says_the_same_of_them(name: str) -> None:
    case = CASES[name]

    def topic(data: dict[str, Any] | bytes) -> str:
        values = EventValues(ATTRIBUTES, encoded(data))
        try:
            unmet = first_unmet(compile_pattern({"data": case.pattern}), values)
        except TooManyComparisonsError:
            return "quarantine"
        return "outbound" if unmet is None else "unmatched"

    assert (topic(case.event), topic(case.taken)) == (case.topic, "outbound")


@pytest.mark.parametrize("name", SEEMING)
def test_one_that_only_seems_costly_takes_seconds(spark: SparkSession, name: str) -> None:
    case = SEEMING[name]
    began = time.monotonic()
    (row,) = rows_of(spark, [pipe_of(name, data=case.pattern)], [record(name, case.event)])
    assert (row["topic"], time.monotonic() - began < SECONDS_OF_ONE) == (case.topic, True)


def test_many_pipes_of_few_comparisons_are_counted_together(spark: SparkSession) -> None:
    """Only pipes that the event's attributes do not exclude count."""
    prefixes = [{"prefix": [f"p{number}" for number in range(100)]}]
    pipes = [
        pipe_of("many", f"{kind}{number}", type=[kind], data={"x": [*prefixes, {"prefix": f"q{number}"}]})
        for kind, count in (("few", 10), ("lots", 30))
        for number in range(count)
    ]
    data = {"x": [*(f"v{number}" for number in range(500)), "q9"]}
    rows = rows_of(spark, pipes, [record("many", data, type=kind) for kind in ("few", "lots")])
    assert [(row["topic"], header_map(row)[h.CE_TYPE]) for row in rows] == [
        ("outbound", "few"),
        ("quarantine", "lots"),
    ]


def test_many_pipes_that_each_look_up_one_text_take_an_event_of_many(spark: SparkSession) -> None:
    """Matching takes seconds; one very long text is too costly for all of them."""
    pipes = [
        pipe_of("many", f"p{number}", data={"items": {"sku": [f"s{number}"]}}) for number in range(10_000)
    ]
    order = {"items": [{"sku": f"s{number}"} for number in range(101)]}
    began = time.monotonic()
    rows = rows_of(spark, pipes, [record("many", order), record("many", {"items": {"sku": "s" * 500_000}})])
    assert time.monotonic() - began < SECONDS_OF_ONE
    assert [row["topic"] for row in rows] == ["outbound"] * 101 + ["quarantine"]
    assert [header_map(row)[h.PIPE] for row in rows[:-1]] == [f"p{number}" for number in range(101)]


def test_an_attribute_that_is_compared_too_often_is_counted_too(spark: SparkSession) -> None:
    wildcards = [{"wildcard": [f"*{number}*b" for number in range(25_000)]}]
    pipes = [pipe_of("long", subject=wildcards), pipe_of("short", subject=wildcards)]
    subjects = {"long": "a" * MAX_ATTRIBUTE_BYTES, "short": "a 24999 b"}
    rows = rows_of(spark, pipes, [record(source, {}, subject=each) for source, each in subjects.items()])
    assert [row["topic"] for row in rows] == ["quarantine", "outbound"]
    assert header_map(rows[0])[h.REASON] == TOO_COSTLY


def test_an_event_without_data_is_never_counted(spark: SparkSession) -> None:
    none = fn.lit(None).cast("binary")
    (row,) = spark.range(1).select(may_be_costly(none, fn.lit(2**62)).alias("costly")).collect()
    assert row["costly"] is False
