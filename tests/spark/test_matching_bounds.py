"""Events that are costly to match hold up neither the other events nor route, whatever makes them costly."""

import json
import time
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

import pytest
from pyspark.sql import Row, SparkSession

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.matching_steps import TOO_COSTLY
from shared.contracts.patterns import compile_pattern
from shared.matching.evaluator import TooManyComparisonsError, first_unmet
from shared.matching.event_values import EventValues
from tests.spark.events import ATTRIBUTES, event_headers, header_map, kafka_rows, one_partition

SECONDS: Final = 120
"""For all events below; without a limit most of them take longer, and some take hours."""

NAMES: Final = [f"n{number}" for number in range(5_000)]
ABSENT: Final = {name: [{"exists": False}] for name in NAMES}
DEPTH: Final = 100


class Costly(NamedTuple):
    """A pattern, an event that is costly to compare with it, and another one that it takes."""

    pattern: dict[str, Any]
    event: dict[str, Any]
    topic: str
    """Where the costly one goes."""

    taken: dict[str, Any]


def nested(inner: Any) -> Any:
    for _ in range(DEPTH):
        inner = {"a": inner}
    return inner


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
}


def encoded(data: Any) -> bytes:
    found = json.dumps(data, separators=(",", ":")).encode()
    assert len(found) <= MAX_EVENT_BYTES
    return found


class Routed(NamedTuple):
    """By case the rows of its costly event and of the next one, and the seconds that all of them took."""

    rows: Mapping[str, tuple[Row, Row]]
    seconds: float


@pytest.fixture(scope="module")
def routed(spark: SparkSession) -> Routed:
    pipes, records = [], []
    for name, case in CASES.items():
        pipes.append(
            Pipe(name="p", tenant="acme", source=name, destination="d", match={"data": case.pattern})
        )
        for data in (case.event, case.taken):
            records.append((encoded(data), event_headers(ATTRIBUTES, hifi_source=name)))
    sources = one_partition(
        spark, [source_row(("acme", pipe.source), [pipe], 0) for pipe in pipes], SOURCE_ROW
    )
    began = time.monotonic()
    rows = outbound(kafka_rows(spark, "events", records), sources).collect()
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


def test_all_of_them_take_a_bounded_time(routed: Routed) -> None:
    assert routed.seconds < SECONDS


@pytest.mark.parametrize("name", CASES)
def test_the_api_says_the_same_of_them(name: str) -> None:
    case = CASES[name]

    def topic(data: dict[str, Any]) -> str:
        values = EventValues(ATTRIBUTES, encoded(data))
        try:
            unmet = first_unmet(compile_pattern({"data": case.pattern}), values)
        except TooManyComparisonsError:
            return "quarantine"
        return "outbound" if unmet is None else "unmatched"

    assert (topic(case.event), topic(case.taken)) == (case.topic, "outbound")


def test_many_pipes_of_few_comparisons_are_counted_together(spark: SparkSession) -> None:
    """And only those that the event's attributes leave open."""
    prefixes = [{"prefix": [f"p{number}" for number in range(100)]}]
    pipes = [
        Pipe(
            name=f"{kind}{number}",
            tenant="acme",
            source="many",
            destination="d",
            match={"type": [kind], "data": {"x": [*prefixes, {"prefix": f"q{number}"}]}},
        )
        for kind, count in (("few", 10), ("lots", 30))
        for number in range(count)
    ]
    value = encoded({"x": [*(f"v{number}" for number in range(500)), "q9"]})
    records = [
        (value, event_headers({**ATTRIBUTES, "type": kind}, hifi_source="many")) for kind in ("few", "lots")
    ]
    sources = one_partition(spark, [source_row(("acme", "many"), pipes, 0)], SOURCE_ROW)
    rows = outbound(kafka_rows(spark, "events", records), sources).collect()
    assert [(row["topic"], header_map(row)[h.CE_TYPE]) for row in rows] == [
        ("outbound", "few"),
        ("quarantine", "lots"),
    ]
