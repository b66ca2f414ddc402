"""When a destination gets requests, and when it gets none."""

from dataclasses import replace

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.circuit_breaker import (
    CLOSED,
    Breaker,
    BreakerThresholds,
    after_failure,
    asked_for,
    has_failed,
    looked_at,
)
from pipelines.data.transmit.connectors.base import Answer

RULES = BreakerThresholds(failures=3, wasted=5.0, pause=4.0, pause_limit=10.0)


def failed(breaker: Breaker, times: int, now: float = 0.0, seconds: float = 0.01) -> Breaker:
    for _ in range(times):
        breaker = after_failure(breaker, seconds, 0.0, now, RULES)
    return breaker


def test_it_opens_at_the_last_of_the_failures_that_it_takes() -> None:
    assert failed(CLOSED, 2).state == "closed"
    assert failed(CLOSED, 3).state == "open"


def test_one_long_time_out_weighs_as_much_as_many_refusals() -> None:
    assert failed(CLOSED, 1, seconds=4.9).state == "closed"
    assert failed(CLOSED, 1, seconds=5.0).state == "open"


def test_it_is_half_open_after_its_pause_and_not_before() -> None:
    broken = failed(CLOSED, 3, now=100.0)
    assert looked_at(broken, 103.9).state == "open"
    assert looked_at(broken, 104.0).state == "half_open"


def test_each_failed_test_doubles_the_pause_up_to_its_limit() -> None:
    breaker, now, pauses = failed(CLOSED, 3), 0.0, []
    for _ in range(4):
        pauses.append(breaker.until - now)
        now = breaker.until
        breaker = failed(looked_at(breaker, now), 1, now)
    assert pauses == [4.0, 8.0, 10.0, 10.0]


def test_a_failure_that_was_under_way_prolongs_nothing() -> None:
    broken = failed(CLOSED, 3)
    assert failed(broken, 5, now=3.0) == broken


@pytest.mark.parametrize(("asked", "until"), [(0.0, 4.0), (6.0, 6.0), (3600.0, 10.0)])
def test_retry_after_is_honoured_within_bounds(asked: float, until: float) -> None:
    at_the_edge = replace(CLOSED, failures=2)
    assert after_failure(at_the_edge, 0.01, asked, 0.0, RULES).until == until


@pytest.mark.parametrize(
    ("answers", "verdict"),
    [
        ([Answer(status=200)], False),
        ([Answer(status=404)], False),
        ([Answer(status=413)], False),
        ([Answer(status=503), Answer(status=200)], False),
        ([Answer(status=503), Answer(status=429)], True),
        ([Answer(error="timeout: ")], True),
        ([Answer(status=408)], True),
        ([Answer(error="refused_address: ", hopeless=True)], None),
        ([Answer(error="secret_missing: ", later=True)], None),
        ([Answer(error="timeout: ", cut_short=True)], None),
        ([Answer(error="timeout: ", cut_short=True), Answer(status=503)], True),
        ([Answer(error="timeout: ", cut_short=True), Answer(status=200)], False),
    ],
)
def test_only_a_destination_that_takes_nothing_counts_as_failed(
    answers: list[Answer], verdict: bool | None
) -> None:
    assert has_failed(answers) is verdict


def test_the_longest_retry_after_counts() -> None:
    answers = [Answer(status=429, retry_after=text) for text in ("3", "nonsense", "20")]
    assert asked_for([*answers, Answer(status=200)], 0) == 20.0


@given(st.lists(st.tuples(st.floats(0, 20), st.floats(0, 20), st.booleans())))
def test_it_is_never_open_for_longer_than_its_limit(steps: list[tuple[float, float, bool]]) -> None:
    breaker, now = CLOSED, 0.0
    for wait, asked, fails in steps:
        now += wait
        breaker = looked_at(breaker, now)
        breaker = after_failure(breaker, 0.1, asked, now, RULES) if fails else CLOSED
        assert breaker.until - now <= RULES.pause_limit + 1e-6  # a sum of floats
