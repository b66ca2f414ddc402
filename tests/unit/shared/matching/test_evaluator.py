"""Patterns evaluated in Python: as EventBridge's language says, and which condition is not met."""

from typing import Any

import pytest
from hypothesis import given
from moto.events.models import EventPattern

from shared.contracts.patterns import compile_pattern
from shared.matching.evaluator import Unmet, first_unmet
from shared.matching.event_values import EventValues
from shared.transformation.step_budget import StepBudget, TooManyStepsError
from tests.spark.patterns import Case, cases, data_text

_PLENTY = 10**9


def unmet(
    pattern: dict[str, Any], data: bytes | None, *, work: int = _PLENTY, **attributes: str
) -> Unmet | None:
    values = EventValues({"type": "t", **attributes}, data)
    return first_unmet(compile_pattern(pattern), values, StepBudget(work).spend)


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


def test_a_pattern_that_compares_too_much_is_stopped() -> None:
    pattern = {"data": {"text": [{"wildcard": ["*a*b", "*c*d"]}]}}
    with pytest.raises(TooManyStepsError):
        unmet(pattern, b'{"text": "%b"}' % (b"a" * 1_000), work=1_500)
