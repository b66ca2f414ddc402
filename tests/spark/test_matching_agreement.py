"""What the management API says of a pipe and an event is what route does with them."""

import json
from typing import Any, NamedTuple

import pytest
from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st
from pyspark.sql import SparkSession

from pipelines.data.route.config_rows import source_row
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from shared.contracts.documents import Pipe
from shared.contracts.patterns import compile_pattern
from shared.matching.evaluator import first_unmet
from shared.matching.event_values import EventValues
from shared.matching.sampling import bucket, threshold
from shared.transformation.step_budget import StepBudget
from tests.spark.events import ATTRIBUTES, event_headers, header_map, kafka_rows, one_partition
from tests.spark.patterns import patterns

_BATCH = 150


class Case(NamedTuple):
    """A pipe's pattern and sample, and an event's type, id and data."""

    pattern: dict[str, Any]
    sample: float
    kind: str
    id: str
    data: bytes | None


def routed(spark: SparkSession, given_cases: list[Case]) -> list[bool]:
    """Whether route sends each event through its pipe. Each case is a source with one pipe."""
    rows, records = [], []
    for number, case in enumerate(given_cases):
        source = f"s{number}"
        rows.append(source_row(source, [pipe_of(case, number)], 0))
        named = {**ATTRIBUTES, "type": case.kind, "id": case.id}
        records.append((case.data, event_headers(named, hifi_source=source)))
    written = outbound(kafka_rows(spark, "events", records), one_partition(spark, rows, SOURCE_ROW)).collect()
    found = {header_map(row)["hifi_pipe"] for row in written if row["topic"] == "outbound"}
    return [f"p{number}" in found for number in range(len(given_cases))]


def evaluated(case: Case) -> bool:
    """The same, in Python."""
    values = EventValues({"specversion": "1.0", **ATTRIBUTES, "type": case.kind, "id": case.id}, case.data)
    unmet = first_unmet(compile_pattern(case.pattern), values, StepBudget(10**9).spend)
    return unmet is None and bucket(case.id) < threshold(pipe_of(case, 0), 0)


def pipe_of(case: Case, number: int) -> Pipe:
    return Pipe(
        name=f"p{number}",
        tenant="acme",
        source=f"s{number}",
        destination="d",
        match=case.pattern,
        sample=case.sample,
    )


_NAMES = st.sampled_from(["a", "b", "c d", "é'\"$"]).map(json.dumps)
_TEXTS = st.sampled_from(["", "a", "ab", "aB", "Bab", "5", "true", "null", '"', "a%b", "\\", "É😀", "ΑΣ", "{", "["])
_NUMBERS = st.sampled_from(
    ["2", "5", "5.0", "5e0", "0.5E1", "5.5", "-7", "-0", "-0.0", "0.00", "300", "3e2", "300.00", "0.1", "1E-7"]
    + ["1e22", "10000000000000000000000", "12345678901234567890", "12345678901234567890.0", "5.50000000000000000001"]
    + ["9" * 38, "9" * 39, "1" + "0" * 44, "0." + "0" * 37 + "1", "0." + "0" * 38 + "1", "9223372036854775808"]
)
_LEAVES = st.one_of(
    _TEXTS.map(lambda text: json.dumps(text, ensure_ascii=False)), _NUMBERS, st.sampled_from(["true", "false", "null"])
)


def _objects(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    """Objects as texts; a name may occur twice."""
    members = st.lists(st.tuples(_NAMES, values), max_size=3)
    return members.map(lambda all_of: "{" + ",".join(f"{name}: {value}" for name, value in all_of) + "}")


def _arrays(values: st.SearchStrategy[str]) -> st.SearchStrategy[str]:
    return st.lists(values, max_size=3).map(lambda all_of: "[" + " , ".join(all_of) + "]")


_VALUES = st.recursive(_LEAVES, lambda inner: _objects(inner) | _arrays(inner) | _arrays(_objects(inner)), max_leaves=6)
_DATA = st.one_of(
    _objects(_VALUES).map(str.encode),
    _objects(_VALUES).map(str.encode),
    _objects(_VALUES).map(str.encode),
    st.tuples(_objects(_LEAVES), st.sampled_from([" ", "\n", "x", "{}", ","])).map(lambda p: (p[0] + p[1]).encode()),
    _VALUES.map(str.encode),
    st.sampled_from([None, b"", b"\xff\xfe", b'{"a": 1', b'{"a": NaN}', b'{"a": 01}', b'{"a": "\t"}', b" \n{\"a\": 5}"]),
)
_CASES = st.builds(
    Case,
    patterns(),
    st.sampled_from([100.0, 100.0, 100.0, 50.0, 0.01, 0.0]),
    _TEXTS,
    st.integers(0, 10**6).map(lambda n: f"é-{n}"),
    _DATA,
)


@settings(
    max_examples=8,
    deadline=None,
    phases=(Phase.explicit, Phase.reuse, Phase.generate),
    suppress_health_check=list(HealthCheck),
)
@given(batch=st.lists(_CASES, min_size=_BATCH, max_size=_BATCH))
def test_route_and_the_evaluator_always_agree(spark: SparkSession, batch: list[Case]) -> None:
    found = routed(spark, batch)
    differing = [case for case, taken in zip(batch, found, strict=True) if evaluated(case) != taken]
    assert differing == []


@pytest.mark.parametrize(
    "data",
    [
        b'{"a": 1} x',
        b'{"a": 1}{"b": 2}',
        b'{"a": 1, "b": {"c": 1, "c": 2}}',
        b'\xef\xbb\xbf{"a": 1}',
        b'{"a": 1.0000000000000000000000000000000000000001}',
        b'{"a": [[1], {"x": 1}, 1]}',
        b'{"a": [{"b": [{"c": 1}]}]}',
    ],
)
def test_they_agree_on_data_that_a_strict_parser_would_read_otherwise(spark: SparkSession, data: bytes) -> None:
    asked: list[dict[str, Any]] = [
        {"data": {"a": [1]}},
        {"data": {"a": [{"exists": True}]}},
        {"data": {"a": {"x": [{"exists": True}]}}},
        {"data": {"a": {"b": {"c": [1]}}}},
        {"data": {"b": {"c": [{"exists": True}]}}},
    ]
    given_cases = [Case(pattern, 100.0, "t", "e", data) for pattern in asked]
    assert routed(spark, given_cases) == [evaluated(case) for case in given_cases]
