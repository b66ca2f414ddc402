"""Compiled event patterns, and errors of invalid ones."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.comparing_steps import PLAIN_A_COMPARISON
from shared.contracts.matchers import MAX_STARS, MAX_WILDCARD_CHARACTERS
from shared.contracts.patterns import (
    MAX_ALTERNATIVES,
    MAX_CONDITIONS,
    Condition,
    Matcher,
    PatternError,
    comparisons,
    compile_pattern,
)
from tests.spark.patterns import patterns


def test_an_empty_pattern_is_met_by_every_event() -> None:
    assert compile_pattern({}) == ((),)


def test_fields_are_all_required_and_values_are_alternatives_in_one_test() -> None:
    compiled = compile_pattern({"type": ["play", "stall"], "data": {"rate": [5]}})

    assert compiled == (
        (
            Condition(
                path=("type",),
                matchers=(Matcher(op="equals", values=('"play', '"stall')),),
                written=["play", "stall"],
            ),
            Condition(path=("data", "rate"), matchers=(Matcher(op="equals", values=("5",)),), written=[5]),
        ),
    )


def test_or_multiplies_with_its_siblings() -> None:
    pattern = {
        "type": ["error"],
        "$or": [{"data": {"a": [1]}}, {"source": ["x"], "data": {"$or": [{"b": [2]}, {"c": [3]}]}}],
    }

    paths = [[".".join(c.path) for c in alternative] for alternative in compile_pattern(pattern)]

    assert paths == [["type", "data.a"], ["type", "source", "data.b"], ["type", "source", "data.c"]]


@pytest.mark.parametrize(
    ("pattern", "path", "fix"),
    [
        ({"type": "play"}, ".type", "write ['play']"),
        ({"type": []}, ".type", "at least one value"),
        ({"type": {"x": ["y"]}}, ".type", "under data"),
        ({"detail-type": ["y"]}, ".detail-type", "under data"),
        ({"data": ["y"]}, ".data", "name a member"),
        ({"data": {"a": {}}}, ".data.a", "leave the field out"),
        (
            {"data": {"a": [{"cidr": "10.0.0.0/8"}]}},
            ".data.a[0]",
            "'cidr' is not an operator; use one of anything-but",
        ),
        ({"data": {"a": ["x", {"prefix": "y", "suffix": "z"}]}}, ".data.a[1]", "one operator"),
        ({"data": {"a": [{"prefix": 5}]}}, ".data.a[0].prefix", "string"),
        ({"data": {"a": [{"prefix": {"x": "y"}}]}}, ".data.a[0].prefix", "equals-ignore-case"),
        ({"data": {"a": [{"numeric": [">"]}]}}, ".data.a[0].numeric", "one or two comparisons"),
        ({"data": {"a": [{"numeric": ["!", 5]}]}}, ".data.a[0].numeric[0]", "use one of <, <=, =, >=, >"),
        ({"data": {"a": [{"numeric": ["<", "5"]}]}}, ".data.a[0].numeric[0]", "compares with a number"),
        ({"data": {"a": [{"numeric": ["<", 10**400]}]}}, ".data.a[0].numeric[0]", "1.8e308"),
        ({"data": {"a": [{"numeric": [">", 5, "<", 5]}]}}, ".data.a[0].numeric", "no number meets both"),
        ({"data": {"a": [{"exists": "yes"}]}}, ".data.a[0].exists", "true or false"),
        (
            {"data": {"a": [{"anything-but": {"numeric": ["=", 5]}}]}},
            ".data.a[0].anything-but",
            "takes values or",
        ),
        ({"data": {"a": [{"anything-but": []}]}}, ".data.a[0].anything-but", "exists"),
        ({"data": {"a": [{"wildcard": "a**b"}]}}, ".data.a[0].wildcard", "two stars"),
        ({"data": {"a": [{"wildcard": "a\\b"}]}}, ".data.a[0].wildcard", "backslash"),
        ({"data": {"a": [["x"]]}}, ".data.a[0]", "not text, a number"),
        ({"data": {"a": [float("nan")]}}, ".data.a[0]", "not text, a number"),
        ({"$or": []}, ".$or", "a list of patterns"),
        ({"$or": [{"type": ["x"]}, {}]}, ".$or[1]", "not empty"),
        ({"data": {"$or": [{"a": [{"numbr": 1}]}]}}, ".data.$or[0].a[0]", "'numbr' is not an operator"),
        ({"data": {5: ["x"]}}, ".data.5", "quote 5"),
    ],
)
def test_an_error_names_the_place_and_the_fix(pattern: dict[str, Any], path: str, fix: str) -> None:
    with pytest.raises(PatternError) as caught:
        compile_pattern(pattern)

    assert caught.value.path == path
    assert fix in str(caught.value)


def test_a_pattern_that_would_explode_is_refused() -> None:
    pair = {"$or": [{"a": [1]}, {"b": [2]}]}
    nested: dict[str, Any] = pair
    for _ in range(9):
        nested = {"$or": [{"x": nested}, {"y": nested}]}

    with pytest.raises(PatternError, match=f"more than {MAX_ALTERNATIVES}"):
        compile_pattern({"data": {f"f{i}": pair for i in range(9)}})


def test_a_pattern_whose_conditions_are_repeated_too_often_is_refused() -> None:
    """Each alternative of an `$or` repeats the fields beside it: a short text becomes very large."""
    fields: dict[str, Any] = {f"a{i}": [1] for i in range(MAX_CONDITIONS // 100)}
    branches = [{"b": [i]} for i in range(100)]
    assert len(compile_pattern({"data": fields | {"$or": branches[:90]}})) == 90
    with pytest.raises(PatternError, match=r"more than 10,000 conditions; use several pipes"):
        compile_pattern({"data": fields | {"$or": branches}})


@given(patterns())
def test_comparisons_of_a_pattern_are_the_operands_of_all_its_alternatives(pattern: dict[str, Any]) -> None:
    conditions = [each for alternative in compile_pattern(pattern) for each in alternative]
    operands = sum(_operands(each) for found in conditions for each in found.matchers)
    assert comparisons(pattern) == operands + _objects(pattern) // 10


def _operands(matcher: Matcher) -> int:
    plain = matcher.op == "equals" and not matcher.negate
    return -(-len(matcher.values) // PLAIN_A_COMPARISON) if plain else max(1, len(matcher.values))


def _objects(pattern: dict[str, Any]) -> int:
    """Number of objects on the way to fields, without the branches of an `$or`."""
    branches = sum(map(_objects, pattern.get("$or", ())))
    inner = [value for name, value in pattern.items() if name != "$or" and isinstance(value, dict)]
    return branches + len(inner) + sum(map(_objects, inner))


@pytest.mark.parametrize(("levels", "count"), [(1, 1), (9, 1), (10, 2), (101, 11)])
def test_ten_objects_on_the_way_to_fields_are_one_comparison(levels: int, count: int) -> None:
    pattern: Any = [1]
    for _ in range(levels):
        pattern = {"a": pattern}
    assert comparisons({"data": pattern}) == count


@pytest.mark.parametrize(("values", "count"), [(1, 1), (10, 1), (11, 2), (10_000, 1_000)])
def test_ten_plain_values_of_a_field_are_one_comparison(values: int, count: int) -> None:
    leaf = [*range(values)]
    assert comparisons({"data": {"a": leaf}}) == count
    assert comparisons({"data": {"a": leaf, "$or": [{"b": [{"prefix": "x"}]}, {"c": [1]}]}}) == 2 * count + 2


@pytest.mark.parametrize("text", ["*a" * (MAX_STARS + 1), "a" * (MAX_WILDCARD_CHARACTERS + 1)])
def test_a_wildcard_that_could_exhaust_routes_stack_or_time_is_refused(text: str) -> None:
    with pytest.raises(PatternError, match="at most 1,000 characters and 32 stars"):
        compile_pattern({"data": {"a": [{"wildcard": text}]}})


def test_a_pattern_deeper_than_any_event_is_refused() -> None:
    nested: dict[str, Any] = {"a": [1]}
    for _ in range(500):
        nested = {"a": nested}

    with pytest.raises(PatternError, match="nested deeper"):
        compile_pattern({"data": nested})


_json = st.recursive(
    st.none() | st.booleans() | st.integers() | st.floats() | st.text(max_size=5),
    lambda inner: (
        st.lists(inner, max_size=3)
        | st.dictionaries(
            st.sampled_from(
                ["data", "type", "$or", "prefix", "numeric", "exists", "anything-but", "wildcard", "x"]
            ),
            inner,
            max_size=3,
        )
    ),
)


@given(st.dictionaries(st.sampled_from(["data", "type", "$or", "x-y"]), _json, max_size=3))
def test_whatever_is_written_compiles_or_is_refused_by_place(pattern: dict[str, Any]) -> None:
    try:
        compile_pattern(pattern)
    except PatternError as error:
        assert error.path.startswith(".")
        assert str(error)
