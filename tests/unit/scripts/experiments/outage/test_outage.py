"""Lags and draining in a trial, computed from receipts."""

import pytest

from scripts.experiments.outage.harness import Delivery
from scripts.experiments.outage.outage import DOWN, PhaseTimes, back_within, measured

MARKS = PhaseTimes(begun=10_000, down=20_000, back=30_000, end=40_000)


def test_a_moment_lies_in_the_phase_that_had_begun() -> None:
    moments = (9_999, 10_000, 19_999, 20_000, 29_999, 30_000, 39_999, 40_000)
    phases = [None, "before", "before", "down", "down", "after", "after", None]
    assert [MARKS.phase(at) for at in moments] == phases


@pytest.mark.parametrize(
    ("outage", "seconds"),
    [(0, 45), (29, 74), (30, 480), (329, 510), (330, 5_460), (600, 5_460), (9_000, 5_460)],
)
def test_waiting_events_return_after_the_breaker_and_the_delay_of_their_last_attempt(
    outage: float, seconds: float
) -> None:
    assert back_within(outage) == seconds


def test_lags_are_of_the_others_and_the_drain_is_of_delayed_events() -> None:
    arrived = [
        Delivery("trial-1", 1, 15_000, 15_100),
        Delivery("trial-1", 1, 25_000, 25_300),
        Delivery("somebody", 1, 25_000, 29_000),
        Delivery(DOWN, 1, 31_000, 31_050),
        *(Delivery(DOWN, attempt, 25_000, at) for attempt, at in ((1, 61_000), (2, 61_999), (2, 63_000))),
    ]
    lags, drain = measured(arrived, MARKS)
    before, down = lags["before"], lags["down"]
    assert before is not None
    assert down is not None
    assert (before.p95, down.p95, lags["after"]) == (100, 300, None)
    assert (drain.events, drain.seconds, drain.most_a_second, drain.median_a_second) == (3, 33.0, 2, 1.5)
