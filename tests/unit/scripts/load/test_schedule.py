"""Requests are due by the clock, regardless of responses."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.load.schedule import Schedule


@given(st.floats(1, 50_000), st.integers(1, 1_000), st.integers(0, 10**6))
def test_requests_are_evenly_apart(rate: float, batch: int, turn: int) -> None:
    schedule = Schedule(rate=rate, batch=batch)
    assert schedule.due(turn) == pytest.approx(turn * batch / rate)


@given(st.floats(1, 5_000), st.integers(1, 100), st.floats(0.1, 20))
def test_a_rate_and_a_time_fix_the_number_of_events(rate: float, batch: int, seconds: float) -> None:
    schedule = Schedule(rate=rate, batch=batch, seconds=seconds)
    turns = 0
    while not schedule.over(turns, elapsed=1e9):
        turns += 1
    assert abs(turns * batch - rate * seconds) <= batch * 1.01


def test_without_a_rate_the_clock_ends_it() -> None:
    schedule = Schedule(seconds=3)
    assert not schedule.over(10**6, elapsed=2.9)
    assert schedule.over(0, elapsed=3.0)


def test_without_seconds_it_never_ends_by_itself() -> None:
    assert not Schedule(rate=10).over(10**9, elapsed=1e9)
