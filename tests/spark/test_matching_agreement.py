"""The management API's answer about a pipe and an event agrees with route."""

import json
from collections import Counter
from collections.abc import Iterator
from typing import Any, NamedTuple

import pytest
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.data.route import matching_steps
from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts.documents import Pipe
from shared.contracts.matching_steps import MATCHING_STEPS
from shared.contracts.patterns import compile_pattern
from shared.matching import evaluator
from shared.matching.evaluator import TooManyComparisonsError, first_unmet
from shared.matching.event_values import EventValues
from shared.matching.sampling import bucket, threshold
from tests.spark.events import ATTRIBUTES, event_headers, kafka_rows, one_partition
from tests.spark.patterns import ON_DATA, drawn, patterns


class Case(NamedTuple):
    """A pipe's pattern and sample, and an event's type, id and data."""

    pattern: dict[str, Any]
    sample: float
    kind: str
    id: str
    data: bytes | None


def routed(spark: SparkSession, given_cases: list[Case]) -> list[str]:
    """The topic to which each event goes. Each case is a source with one pipe."""
    rows, records = [], []
    for number, case in enumerate(given_cases):
        source = f"s{number}"
        rows.append(source_row(("acme", source), [pipe_of(case, number)], 0))
        named = {**ATTRIBUTES, "type": case.kind, "id": case.id}
        records.append((case.data, event_headers(named, hifi_source=source)))
    written = outbound(kafka_rows(spark, "events", records), one_partition(spark, rows, SOURCE_ROW)).collect()
    assert len(written) == len(given_cases)
    return [row["topic"] for row in written]


def evaluated(case: Case) -> str:
    """The same result, computed in Python."""
    if bucket(case.id) >= threshold(pipe_of(case, 0), 0):
        return "unmatched"
    values = EventValues({"specversion": "1.0", **ATTRIBUTES, "type": case.kind, "id": case.id}, case.data)
    try:
        unmet = first_unmet(compile_pattern(case.pattern), values)
    except TooManyComparisonsError:
        return "quarantine"
    return "outbound" if unmet is None else "unmatched"


def pipe_of(case: Case, number: int) -> Pipe:
    return Pipe(
        name=f"p{number}",
        tenant="acme",
        source=f"s{number}",
        destination="d",
        match=case.pattern,
        sample=case.sample,
    )


_KEYS = ["a", "b", "é'\"$"]
_TEXTS = st.sampled_from(["", "a", "aB", "Bab", "5", "true", "null", '"', "a%b", "\\", "É😀", "ΑΣ", "{", "["])
_NUMBERS = st.sampled_from(
    [
        *("2", "5", "5.0", "5e0", "0.5E1", "5.5", "-7", "-0", "-0.0", "0.00", "300", "3e2", "300.00", "0.1"),
        *("1E-7", "1e22", "10000000000000000000000", "12345678901234567890", "12345678901234567890.0"),
        *("5.50000000000000000001", "9223372036854775808", "9" * 38, "9" * 39, f"1{'0' * 44}"),
        *(f"0.{'0' * 37}1", f"0.{'0' * 38}1"),
    ]
)
_LEAVES = st.one_of(
    _TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)),
    _NUMBERS,
    st.sampled_from(["true", "false", "null"]),
)


def _objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Objects as texts; a name may occur twice."""
    members = st.lists(st.tuples(st.sampled_from(_KEYS).map(json.dumps), values), min_size=1, max_size=3)
    return members.map(lambda pairs: "{" + ",".join(f"{name}: {value}" for name, value in pairs) + "}")


def _arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda items: "[" + " , ".join(items) + "]")


_VALUES = st.recursive(
    _LEAVES, lambda inner: _objects(inner) | _arrays(inner) | _arrays(_objects(inner)), max_leaves=4
)
_OBJECTS = _objects(_VALUES)
_ODD = st.one_of(
    st.tuples(_OBJECTS, st.sampled_from([" ", "\n", "x", "{}", ","])).map(
        lambda parts: "".join(parts).encode()
    ),
    _VALUES.map(str.encode),
    st.sampled_from([None, b"", b"\xff\xfe", b'{"a": 1', b'{"a": NaN}', b'{"a": 01}', b' \n{"a": 5}']),
)


def _paths(value: Any) -> Iterator[tuple[tuple[str, ...], Any]]:
    """Paths of leaves, with the leaves; arrays are crossed as patterns cross them."""
    if isinstance(value, dict):
        for name, member in value.items():
            yield from (((name, *path), leaf) for path, leaf in _paths(member))
    elif isinstance(value, list):
        for element in value:
            yield from _paths(element)
    else:
        yield (), value


def _aimed(data: str) -> st.SearchStrategy[dict[str, Any]]:
    """Patterns with a condition on existing data, often with its present value."""
    found = [(path, leaf) for path, leaf in _paths(json.loads(data)) if path] or [(("a",), 5)]

    def pattern(chosen: tuple[tuple[tuple[str, ...], Any], list[Any], bool]) -> dict[str, Any]:
        (path, leaf), matchers, itself = chosen
        tree: Any = [leaf] if itself else matchers
        for name in reversed(path):
            tree = {name: tree}
        return {"data": tree}

    return st.tuples(st.sampled_from(found), ON_DATA, st.booleans()).map(pattern)


_SAMPLES = st.sampled_from([100.0, 100.0, 100.0, 50.0, 0.01])
_IDS = st.integers(0, 10**6).map(lambda n: f"é-{n}")
_CASES = st.one_of(
    _OBJECTS.flatmap(
        lambda data: st.builds(Case, _aimed(data), _SAMPLES, st.just("t"), _IDS, st.just(data.encode()))
    ),
    st.builds(Case, patterns(), _SAMPLES, _TEXTS, _IDS, _OBJECTS.map(str.encode) | _ODD),
)


_STRICTLY_OTHERWISE = [
    b'{"a": 1} x',
    b'{"a": 1}{"b": 2}',
    b'{"a": 2, "b": {"c": 1, "c": 2}, "a": 1}',
    b'\xef\xbb\xbf{"a": 1}',
    b'{"a": 1.0000000000000000000000000000000000000001}',
    b'{"a": [[1], {"x": 1}, 1]}',
    b'{"a": [{"b": [{"c": 1}]}]}',
    b'{"a": "\t", "b": {"c": 1}}',
]
_ASKED: list[dict[str, Any]] = [
    {"data": {"a": [1]}},
    {"data": {"a": [{"exists": True}]}},
    {"data": {"a": {"x": [{"exists": True}]}}},
    {"data": {"a": {"b": {"c": [1]}}}},
    {"data": {"b": {"c": [{"exists": True}]}}},
]


Routed = list[tuple[Case, str]]
"""Cases, and the topics to which route sends them."""


@pytest.fixture(scope="module", params=[250, pytest.param(1_000, marks=pytest.mark.proof)])
def found(spark: SparkSession, request: pytest.FixtureRequest) -> tuple[Routed, Routed]:
    """Drawn cases, and cases that a strict parser would read differently."""
    anything = drawn(_CASES, request.param)
    odd = [Case(pattern, 100.0, "t", "e", data) for data in _STRICTLY_OTHERWISE for pattern in _ASKED]
    topics = list(zip(anything + odd, routed(spark, anything + odd), strict=True))
    return topics[: len(anything)], topics[len(anything) :]


def test_route_and_the_evaluator_always_agree(found: tuple[Routed, Routed]) -> None:
    cases, _ = found
    assert [case for case, topic in cases if evaluated(case) != topic] == []
    topics = Counter(topic for _, topic in cases)
    assert len(cases) // 10 < topics["outbound"] < len(cases)
    assert topics.keys() == {"outbound", "unmatched"}


def test_they_agree_on_data_that_a_strict_parser_would_read_otherwise(found: tuple[Routed, Routed]) -> None:
    _, cases = found
    assert [case for case, topic in cases if evaluated(case) != topic] == []


_FEW_STEPS = 150
_COUNTED = 400


def test_they_agree_on_what_takes_too_many_steps(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    for module in (matching_steps, evaluator):
        assert module.MATCHING_STEPS == MATCHING_STEPS
        monkeypatch.setattr(module, "MATCHING_STEPS", _FEW_STEPS)
    cases = drawn(_CASES, _COUNTED)
    topics = routed(spark, cases)
    assert [case for case, topic in zip(cases, topics, strict=True) if evaluated(case) != topic] == []
    assert min(Counter(topics)[each] for each in ("outbound", "unmatched", "quarantine")) > _COUNTED // 20
