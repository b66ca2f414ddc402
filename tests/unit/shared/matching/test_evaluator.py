"""Patterns evaluated in Python, by EventBridge's language, with the first unmet condition."""

import time
from typing import Any

import pytest
from hypothesis import given
from moto.events.models import EventPattern

from shared.contracts.patterns import compile_pattern
from shared.matching.evaluator import TooManyComparisonsError, Unmet, first_unmet
from shared.matching.event_values import EventValues
from tests.spark.patterns import Case, cases, data_text


def unmet(pattern: dict[str, Any], data: bytes | None, **attributes: str) -> Unmet | None:
    return first_unmet(compile_pattern(pattern), EventValues({"type": "t", **attributes}, data))


@given(case=cases())
def test_it_matches_what_moto_matches(case: Case) -> None:
    pattern, event = case
    expected = EventPattern(None, pattern).matches_event(event)  # type: ignore[arg-type]
    assert (unmet(pattern, data_text(event), type=event["type"]) is None) == expected


def test_the_first_unmet_condition_is_given_with_what_was_found() -> None:
    pattern = {"type": ["t"], "data": {"kind": ["play"], "rate": [{"numeric": [">", 5]}], "gone": [1]}}
    found = unmet(pattern, b'{"kind": "play", "rate": [3, 4.50]}')
    assert found is not None
    assert (found.condition.path, found.condition.written) == (("data", "rate"), [{"numeric": [">", 5]}])
    assert list(found.found) == ["3", "4.5"]


def test_of_several_alternatives_the_one_that_is_met_furthest_is_told() -> None:
    pattern = {"$or": [{"type": ["x"], "data": {"a": [1]}}, {"type": ["t"], "data": {"b": [2]}}]}
    found = unmet(pattern, b'{"b": 3}')
    assert found is not None
    assert found.condition.path == ("data", "b")


@pytest.mark.parametrize("data", [None, b"", b"not json", b"[1]", b"[" * 5_000, b"\xff\xfe"])
def test_data_that_is_no_object_has_no_values(data: bytes | None) -> None:
    assert unmet({"data": {"a": [{"exists": False}]}}, data) is None
    assert unmet({"data": {"a": [1]}}, data) is not None


WILDCARDS = [{"wildcard": [f"*{number}*b" for number in range(400)]}]
REPEATING = [{"wildcard": ["*" + "a" * 997 + "b*"] * 199}]
LONG = b'{"text": "%b"}' % (b"a" * 300_000)


@pytest.mark.parametrize(
    ("pattern", "data"),
    [
        ({"text": WILDCARDS}, LONG),
        ({"text": REPEATING}, LONG),
        ({"list": [{"equals-ignore-case": "p" * 200_000}]}, b'{"list": [%b1]}' % (b"0," * 600)),
        (
            {"list": [{"prefix": [str(number) for number in range(2_000)]}]},
            b'{"list": [%b1]}' % (b"0," * 600),
        ),
        (
            {f"n{number}": [1] for number in range(2_000)},
            b'{%b"x": 1}' % b"".join(b'"%d": 1,' % n for n in range(30_000)),
        ),
    ],
    ids=["long texts", "long texts, long parts", "long operands", "many values", "many members on the way"],
)
def test_an_event_that_would_take_too_many_comparisons_is_refused(
    pattern: dict[str, Any], data: bytes
) -> None:
    began = time.process_time()
    with pytest.raises(TooManyComparisonsError):
        unmet({"data": pattern}, data)
    assert time.process_time() - began < 1
    assert unmet({"data": pattern}, b'{"other": %b}' % data) is not None


def test_objects_are_looked_into_once_however_many_fields_have_them_on_the_way() -> None:
    pattern: dict[str, Any] = {f"n{number}": [{"exists": False}] for number in range(9_000)}
    data = '{"m": 1}'
    for _ in range(100):
        pattern, data = {"a": pattern}, f'{{"a": {data}}}'
    assert unmet({"data": pattern}, data.encode()) is None


def test_only_alternatives_that_the_attributes_leave_are_compared_with_the_data() -> None:
    pattern = {"data": {"text": WILDCARDS}, "type": ["x"]}
    found = unmet(pattern, LONG)
    assert found is not None
    assert found.condition.path == ("type",)
    with pytest.raises(TooManyComparisonsError):
        unmet(pattern, LONG, type="x")


def test_a_pattern_that_compares_an_attribute_too_often_is_stopped() -> None:
    texts = [f"*{number}*b" for number in range(25_000)]
    with pytest.raises(TooManyComparisonsError):
        unmet({"subject": [{"wildcard": texts}]}, None, subject="a" * 4_096)
