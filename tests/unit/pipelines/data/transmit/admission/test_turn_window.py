"""What one destination is given in a micro-batch of the slow lane: bounded, and more when it recovers."""

import heapq
from collections.abc import Callable
from dataclasses import replace
from typing import NamedTuple

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission import turn_window as windows
from pipelines.data.transmit.admission.throughput import Throughput, TurnResult, after_turn, allowance
from pipelines.data.transmit.admission.turn_window import TurnWindow

WINDOW = 1.0
SLOTS = 8
EVENTS = 100
"""In each request."""

KNOWN = st.builds(
    Throughput,
    rate=st.none() | st.floats(0, 1e6),
    quickest=st.floats(0, 20),
    turns=st.integers(0, 100),
)
ANSWERS = st.functions(like=lambda _: 0.0, returns=st.floats(0.001, 10), pure=True)

Finishes = Callable[[float], float]
"""When a request is answered that starts at this time."""


class Played(NamedTuple):
    """One turn to its end."""

    turn: TurnWindow
    starts: list[float]
    seconds: float
    """Until the last answer."""


def play(known: Throughput, finishes: Finishes, requests: int = 1_000) -> Played:
    """One turn, with so many requests to send; what is left is set aside."""
    turn, now = windows.opened(known, WINDOW, 0.0), 0.0
    ends: list[tuple[float, float]] = []
    starts: list[float] = []
    while True:
        while len(starts) < requests and len(ends) < SLOTS and _goes(turn, now):
            _check_start(turn, now, len(ends))
            turn = windows.started(turn, EVENTS)
            starts.append(now)
            heapq.heappush(ends, (finishes(now), now))
        if not ends:
            return Played(windows.limited(turn) if len(starts) < requests else turn, starts, now)
        now, began = heapq.heappop(ends)
        turn = windows.ended(windows.answered(turn, EVENTS, now - began, now))


def _goes(turn: TurnWindow, now: float) -> bool:
    return windows.admittance(turn, EVENTS, now) == "go"


def _check_start(turn: TurnWindow, now: float, under_way: int) -> None:
    assert not turn.admitted or now < turn.closes <= WINDOW
    beyond = EVENTS if turn.probing else 0
    assert not under_way or turn.admitted + EVENTS <= turn.allowance + beyond


def results(
    known: Throughput, finishes: Callable[[], Finishes], turns: int
) -> tuple[Throughput, list[Played]]:
    played = []
    for _ in range(turns):
        played.append(play(known, finishes()))
        shown = windows.result(played[-1].turn)
        assert shown is not None
        known = after_turn(known, shown)
    return known, played


def one_after_the_other(seconds: float) -> Callable[[], Finishes]:
    """A destination that works on one request at a time."""

    def fresh() -> Finishes:
        free = 0.0

        def finishes(now: float) -> float:
            nonlocal free
            free = max(free, now) + seconds
            return free

        return finishes

    return fresh


def side_by_side(seconds: float) -> Callable[[], Finishes]:
    """A destination that takes as long for many requests as for one."""
    return lambda: lambda now: now + seconds


@given(KNOWN, ANSWERS, st.integers(1, 60))
def test_no_request_starts_after_the_window_nor_beyond_what_was_shown(
    known: Throughput, seconds: Callable[[float], float], requests: int
) -> None:
    played = play(known, lambda now: now + seconds(now), requests)  # asserts at each start
    assert 1 <= len(played.starts) <= requests
    assert played.turn.admitted == EVENTS * len(played.starts) == played.turn.taken
    assert played.turn.limited == (len(played.starts) < requests), "the others are set aside"
    assert played.turn.under_way == 0


@pytest.mark.parametrize("seconds", [0.01, 0.05, 0.1, 0.4, 0.9])
def test_a_turn_of_one_that_gets_too_much_lasts_little_longer_than_the_window(seconds: float) -> None:
    known, played = results(Throughput(), one_after_the_other(seconds), 33)
    assert known.rate is not None
    assert known.rate == pytest.approx(EVENTS / seconds, rel=0.3)
    later = sorted(each.seconds for each in played[1:])
    assert later[len(later) * 3 // 4] <= 1.3 * WINDOW
    assert later[-1] <= 2 * WINDOW
    busy = sum(len(each.starts) for each in played) * seconds
    assert busy >= 0.75 * sum(max(each.seconds, WINDOW) for each in played), "it is kept busy"


def test_one_that_answers_late_but_many_at_once_keeps_all_its_slots() -> None:
    _, played = results(Throughput(), side_by_side(3.0), 20)
    assert {len(each.starts) for each in played} == {SLOTS}


def test_it_finds_them_again_after_a_time_in_which_it_took_little() -> None:
    _, played = results(Throughput(rate=10.0, quickest=3.0), side_by_side(3.0), 48)
    assert len(played[-1].starts) == SLOTS


@pytest.mark.parametrize("known", [Throughput(rate=0.0), Throughput(rate=20.0, quickest=5.0)])
def test_one_that_has_recovered_regains_its_share_within_three_turns(known: Throughput) -> None:
    _, played = results(known, one_after_the_other(0.01), 3)
    assert len(played[-1].starts) >= 90


def test_the_rate_falls_only_if_there_was_more_to_take_and_rises_at_once() -> None:
    known = Throughput(rate=100.0, quickest=0.1)
    few = TurnResult(taken=1, seconds=1.0, quickest=0.1, limited=False)
    assert after_turn(known, few).rate == 100.0
    assert after_turn(Throughput(), few).rate is None, "one event shows nothing of how many it could take"
    assert after_turn(known, replace(few, limited=True)).rate == 50.5
    assert after_turn(known, TurnResult(taken=900, seconds=1.0, quickest=0.1, limited=False)).rate == 900.0


@given(KNOWN, st.floats(0.1, 10))
def test_what_is_allowed_follows_what_was_shown(known: Throughput, window: float) -> None:
    allowed = allowance(known, window)
    if known.rate is None:
        assert allowed == float("inf")
    else:
        assert allowed == pytest.approx(1.25 * known.rate * max(window, known.quickest))
