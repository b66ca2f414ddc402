"""Return times of requests that got no turn at a destination."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.slot_backlog import SlotBacklog

NOW = 1_000.0
MINUTE = 60.0
HOUR = 60 * MINUTE


def booked(backlog: SlotBacklog, requests: int, now: float) -> tuple[SlotBacklog, list[float]]:
    """Waiting times of requests that are sent back together."""
    waits = []
    for _ in range(requests):
        backlog, wait = backlog.booked(now)
        waits.append(wait)
    return backlog, waits


def answered(slots: int, *seconds: float) -> SlotBacklog:
    backlog = SlotBacklog(slots)
    for each in seconds:
        backlog = backlog.answered(each)
    return backlog


def overloaded(backlog: SlotBacklog, seconds: float) -> SlotBacklog:
    """The backlog after some seconds of ten times as many requests as the destination takes."""
    for second in range(int(seconds)):
        backlog, _ = booked(backlog, 10, NOW + second)
    return backlog


def test_they_return_as_fast_as_all_slots_together_answer() -> None:
    _, waits = booked(answered(8, 2.0), 100, NOW)
    assert waits == pytest.approx([30.0 + 0.25 * number for number in range(100)])


def test_those_of_one_of_which_nothing_is_known_return_after_the_shortest_delay() -> None:
    _, waits = booked(SlotBacklog(8), 100, NOW)
    assert waits == [30.0] * 100


def test_after_a_short_backlog_none_waits_longer_than_five_minutes() -> None:
    backlog, waits = booked(answered(1, 1.0), 1_000, NOW)
    assert max(waits) == 300.0
    assert backlog.booked(NOW + MINUTE)[1] <= 300.0


@pytest.mark.parametrize(("seconds", "most"), [(10 * MINUTE, 10 * MINUTE), (2 * HOUR, HOUR)])
def test_after_a_long_one_as_long_as_it_has_lasted_and_an_hour_at_most(seconds: float, most: float) -> None:
    backlog = overloaded(answered(1, 1.0), seconds)
    _, waits = booked(backlog, 5_000, NOW + seconds)
    assert max(waits) == pytest.approx(most, abs=2.0)


def test_when_all_have_returned_the_next_backlog_begins() -> None:
    backlog = overloaded(answered(1, 1.0), HOUR)
    _, waits = booked(backlog, 5_000, NOW + 3 * HOUR)
    assert (min(waits), max(waits)) == (30.0, 300.0)


@given(st.lists(st.floats(0.01, 10.0), min_size=1, max_size=50), st.integers(1, 64))
def test_the_average_is_between_the_shortest_answer_and_the_longest(seconds: list[float], slots: int) -> None:
    average = answered(slots, *seconds).average
    assert average is not None
    assert min(seconds) - 1e-9 <= average <= max(seconds) + 1e-9
