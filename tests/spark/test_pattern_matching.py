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
from typing import Any

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from moto.events.models import EventPattern
from pyspark.sql import SparkSession

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts.documents import Pipe
from tests.spark.events import ATTRIBUTES, event_headers, header_map, kafka_rows, one_partition
from tests.spark.patterns import cases, data_text, drawn

_CASES_DRAWN = 600


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


def test_spark_matches_what_moto_matches(spark: SparkSession) -> None:
    batch = drawn(cases(), _CASES_DRAWN)
    found = matched(spark, [(pattern, event["type"], data_text(event)) for pattern, event in batch])

    for (pattern, event), result in zip(batch, found, strict=True):
        expected = EventPattern(None, pattern).matches_event(event)  # type: ignore[arg-type]
        assert result == expected, (pattern, event)


def test_a_wildcard_over_a_long_text_takes_no_longer_than_reading_it(spark: SparkSession) -> None:
    pattern = {"data": {"text": [{"wildcard": "*a*a*a*a*b"}]}}
    text = b'{"text":"%b"}' % (b"a" * 500_000)
    matched(spark, [(pattern, "t", b'{"text":"ab"}')])  # planning and class loading are not timed
    began = time.monotonic()

    assert matched(spark, [(pattern, "t", text), (pattern, "t", text[:-2] + b'b"}')]) == [False, True]
    assert time.monotonic() - began < 120  # with backtracking it would take hours


_PLAYER = {
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


@pytest.mark.parametrize(
    ("data", "expected"),
    [
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
    ],
)
def test_examples_beyond_moto(spark: SparkSession, data: dict[str, Any], expected: bool) -> None:
    assert matched(spark, [({"data": data}, "t", json.dumps(_PLAYER).encode())]) == [expected]


@pytest.mark.parametrize(
    "data", [None, b"", b"not json", b'{"a": 1', b"[1]", b'"a"', b"\xff\xfe", b"5", b"null"]
)
def test_data_without_members_meets_only_conditions_on_absence(
    spark: SparkSession, data: bytes | None
) -> None:
    patterns: list[dict[str, Any]] = [
        {},
        {"type": ["t"]},
        {"data": {"a": [{"exists": False}]}},
        {"data": {"a": [1]}},
        {"data": {"a": [{"anything-but": 1}]}},
    ]

    assert matched(spark, [(p, "t", data) for p in patterns]) == [True, True, True, False, False]


@settings(max_examples=3, deadline=None, phases=(Phase.generate,), suppress_health_check=list(HealthCheck))
@given(
    numbers=st.lists(
        st.integers(-(10**45), 10**45) | st.floats(allow_nan=False, allow_infinity=False),
        min_size=100,
        max_size=100,
    )
)
def test_every_number_equals_itself(spark: SparkSession, numbers: list[float]) -> None:
    found = matched(spark, [({"data": {"n": [n]}}, "t", json.dumps({"n": n}).encode()) for n in numbers])

    assert [n for n, same in zip(numbers, found, strict=True) if not same] == []


def test_integers_are_compared_digit_by_digit(spark: SparkSession) -> None:
    pattern = {"data": {"n": [12345678901234567890]}}

    assert matched(spark, [(pattern, "t", b'{"n": 1234567890123456789%d}' % last) for last in (0, 1)]) == [
        True,
        False,
    ]


def test_spellings_of_one_number_are_equal(spark: SparkSession) -> None:
    spelled = [b'{"n": %s}' % text for text in (b"300", b"300.0", b"3e2", b"3.00E+2", b"0.3e3")]

    assert matched(spark, [({"data": {"n": [300]}}, "t", data) for data in spelled]) == [True] * len(spelled)
