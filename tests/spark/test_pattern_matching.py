"""Compiled patterns, evaluated by Spark, against moto's matcher of EventBridge patterns and by example.

Excluded from the comparison, because moto differs from what AWS documents:
- booleans in events: to Python True equals 1 and is a number (examples below cover them);
- empty objects and arrays: moto lets them exist; AWS looks for leaves;
- arrays of objects: moto does not descend into them;
- big integers against `numeric` bounds near them: moto compares them exactly, AWS and hifi as doubles;
- names with a dot: moto joins paths by dots;
- line feeds against `wildcard`: moto's `*` stops at them.
"""

import json
import time
from collections.abc import Callable
from itertools import islice
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from moto.events.models import EventPattern
from pyspark.sql import SparkSession

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts.documents import Pipe
from tests.spark.events import ATTRIBUTES, event_headers, header_map, kafka_rows, one_partition
from tests.spark.patterns import Case, cases, data_text, drawn

_CASES_DRAWN = 150
_NUMBERS_DRAWN = 60


def matched(spark: SparkSession, pairs: list[tuple[dict[str, Any], str, bytes | None]]) -> list[bool]:
    """For each (pattern, type, data): whether the event matches. Each pair is a source with one pipe."""
    rows, records = [], []
    for number, (pattern, kind, data) in enumerate(pairs):
        source = f"s{number}"
        pipe = Pipe(name=f"p{number}", tenant="acme", source=source, destination="d", match=pattern)
        rows.append(source_row(("acme", source), [pipe], 0))
        records.append((data, event_headers({**ATTRIBUTES, "type": kind}, hifi_source=source)))
    written = outbound(kafka_rows(spark, "events", records), one_partition(spark, rows, SOURCE_ROW)).collect()
    found = {header_map(row)["hifi_pipe"] for row in written if row["topic"] == "outbound"}
    return [f"p{number}" in found for number in range(len(pairs))]


def test_a_wildcard_over_a_long_text_takes_no_longer_than_reading_it(spark: SparkSession) -> None:
    pattern = {"data": {"text": [{"wildcard": "*a*a*a*a*b"}]}}
    text = b'{"text":"%b"}' % (b"a" * 500_000)
    began = time.monotonic()

    assert matched(spark, [(pattern, "t", text), (pattern, "t", text[:-2] + b'b"}')]) == [False, True]
    assert time.monotonic() - began < 300  # with backtracking it would take hours


_PLAYER = json.dumps(
    {
        "kind": "play",
        "ok": True,
        "none": None,
        "rate": 5,
        "tags": ["a", "b"],
        "empty": [],
        "hollow": {},
        "cdn": [{"name": "x", "ms": [1, 2]}, {"name": "y", "edge": {"pop": "AMS"}}, 7],
        "deep": {"er": {"est": "z"}},
        "nested": [["q"]],
        "lines": "a\nb",
    }
).encode()
_EXAMPLES: list[tuple[dict[str, Any], bool]] = [
    ({"ok": [True]}, True),
    ({"ok": ["true"]}, False),
    ({"ok": [1]}, False),
    ({"ok": [{"numeric": [">", 0]}]}, False),
    ({"none": [None]}, True),
    ({"none": [{"exists": True}]}, True),
    ({"rate": ["5"]}, False),
    ({"rate": [{"prefix": "5"}]}, False),
    ({"tags": ["b"]}, True),
    ({"tags": [{"anything-but": "a"}]}, True),
    ({"tags": [{"anything-but": ["a", "b"]}]}, False),
    ({"empty": [{"exists": True}]}, False),
    ({"hollow": [{"exists": False}]}, True),
    ({"deep": [{"exists": True}]}, False),
    ({"deep": {"er": {"est": [{"exists": True}]}}}, True),
    ({"cdn": {"name": ["y"]}}, True),
    ({"cdn": {"ms": [2]}}, True),
    ({"cdn": {"edge": {"pop": [{"suffix": "MS"}]}}}, True),
    ({"cdn": {"edge": {"pop": {"x": ["AMS"]}}}}, False),
    ({"kind": {"x": [{"exists": False}]}}, True),
    ({"kind": [{"suffix": '"play'}]}, False),
    ({"kind": [{"suffix": "lay"}, "x"]}, True),
    ({"lines": [{"wildcard": "a*b"}]}, True),
    ({"gone": [{"anything-but": "a"}]}, False),
]
_WITHOUT_MEMBERS = [None, b"", b"not json", b'{"a": 1', b"[1]", b'"a"', b"\xff\xfe", b"5", b"null"]
_ON_ABSENCE: list[tuple[dict[str, Any], bool]] = [
    ({}, True),
    ({"type": ["t"]}, True),
    ({"data": {"a": [{"exists": False}]}}, True),
    ({"data": {"a": [1]}}, False),
    ({"data": {"a": [{"anything-but": 1}]}}, False),
]
_LONG_INTEGER = {"data": {"n": [12345678901234567890]}}
_LONG_INTEGERS = [(b'{"n": 12345678901234567890}', True), (b'{"n": 12345678901234567891}', False)]
_THREE_HUNDRED = {"data": {"n": [300]}}
_SPELLINGS = [b'{"n": %s}' % text for text in (b"300", b"300.0", b"3e2", b"3.00E+2", b"0.3e3")]

Says = Callable[[dict[str, Any], bytes | None], bool]


class Asked(NamedTuple):
    """The questions to Spark and its answers, in one job, as planning takes seconds."""

    drawn: list[Case]
    matches: list[bool]
    """For each drawn pattern and event, whether they match."""

    numbers: list[float]
    equal: list[bool]
    """For each number, whether it matches itself."""

    says: Says
    """Whether a pattern matches an event with the given data, for all examples below."""


@pytest.fixture(scope="module", params=[1, pytest.param(4, marks=pytest.mark.proof)])
def asked(spark: SparkSession, request: pytest.FixtureRequest) -> Asked:
    of_moto = drawn(cases(), request.param * _CASES_DRAWN)
    integers = st.integers(-(10**45), 10**45)
    floats = st.floats(allow_nan=False, allow_infinity=False)
    numbers = drawn(integers | floats, request.param * _NUMBERS_DRAWN)
    examples: list[tuple[dict[str, Any], bytes | None]] = [
        *(({"data": data}, _PLAYER) for data, _ in _EXAMPLES),
        *((pattern, data) for data in _WITHOUT_MEMBERS for pattern, _ in _ON_ABSENCE),
        *((_LONG_INTEGER, data) for data, _ in _LONG_INTEGERS),
        *((_THREE_HUNDRED, data) for data in _SPELLINGS),
    ]
    found = matched(
        spark,
        [
            *((pattern, event["type"], data_text(event)) for pattern, event in of_moto),
            *(({"data": {"n": [n]}}, "t", json.dumps({"n": n}).encode()) for n in numbers),
            *((pattern, "t", data) for pattern, data in examples),
        ],
    )
    answers = iter(found)
    matches, equal = list(islice(answers, len(of_moto))), list(islice(answers, len(numbers)))
    of_examples = {repr(pair): answer for pair, answer in zip(examples, answers, strict=True)}
    return Asked(of_moto, matches, numbers, equal, lambda pattern, data: of_examples[repr((pattern, data))])


@pytest.fixture
def says(asked: Asked) -> Says:
    return asked.says


def test_spark_matches_what_moto_matches(asked: Asked) -> None:
    for (pattern, event), result in zip(asked.drawn, asked.matches, strict=True):
        expected = EventPattern(None, pattern).matches_event(event)  # type: ignore[arg-type]
        assert result == expected, (pattern, event)


@pytest.mark.parametrize(("data", "expected"), _EXAMPLES)
def test_examples_beyond_moto(says: Says, data: dict[str, Any], expected: bool) -> None:
    assert says({"data": data}, _PLAYER) == expected


@pytest.mark.parametrize("data", _WITHOUT_MEMBERS)
def test_data_without_members_meets_only_conditions_on_absence(says: Says, data: bytes | None) -> None:
    assert [says(pattern, data) for pattern, _ in _ON_ABSENCE] == [expected for _, expected in _ON_ABSENCE]


@pytest.mark.parametrize(("data", "expected"), _LONG_INTEGERS)
def test_integers_are_compared_digit_by_digit(says: Says, data: bytes, expected: bool) -> None:
    assert says(_LONG_INTEGER, data) == expected


@pytest.mark.parametrize("data", _SPELLINGS)
def test_spellings_of_one_number_are_equal(says: Says, data: bytes) -> None:
    assert says(_THREE_HUNDRED, data)


def test_every_number_equals_itself(asked: Asked) -> None:
    assert [n for n, same in zip(asked.numbers, asked.equal, strict=True) if not same] == []
