"""A rollout goes up while its own events are good, stops when they are not, and then waits for a person."""

from collections.abc import Mapping

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.provision.rollout_decision import (
    FRESH_MS,
    GONE_MS,
    Evidence,
    decided,
    evidence,
    side_obstacle,
)
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import MOVING, RolloutCard, RolloutPhase, RolloutState, standing

PLAN = Rollout(steps=[1, 10, 50, 100])
EVERY = PLAN.every_ms
GOOD = Evidence(events=1_000, good=1_000, dead=0, obstacle="")
START = standing(PLAN, None, 0)


def seen(events: int, good: int | None = None, dead: int = 0, obstacle: str = "") -> Evidence:
    return Evidence(events=events, good=events if good is None else good, dead=dead, obstacle=obstacle)


def test_it_goes_up_step_by_step_and_is_done_once_the_last_step_has_held() -> None:
    state, shares = START, [START.share]
    for turn in range(1, 5):
        early = decided(PLAN, state, GOOD, turn * EVERY - 1)
        assert (early.state, early.step, early.since_ms) == (RolloutPhase.RISING, state.step, state.since_ms)
        state = decided(PLAN, early, GOOD, turn * EVERY)
        shares.append(state.share)
    assert shares == [1, 10, 50, 100, 100]
    assert (state.state, state.next_ms) == (RolloutPhase.DONE, None)


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (seen(99), "99 of 100 events"),
        (seen(0), "no events yet"),
        (seen(500, obstacle="side blue is not stable"), "side blue is not stable"),
        (Evidence(events=500, good=500), "the meter does not answer"),
    ],
)
def test_a_rollout_waits_and_names_the_reason(known: Evidence, reason: str) -> None:
    state = decided(PLAN, START, known, 2 * EVERY)
    assert (state.state, state.share) == (RolloutPhase.WAITING, 1)
    assert reason in state.reason
    assert decided(PLAN, state, GOOD, 2 * EVERY).share == 10


@pytest.mark.parametrize(
    ("known", "reason"),
    [
        (seen(1_000, good=949), "fewer than 95 % were good, at 10 %: 1,000 events, 94.9 % good"),
        (seen(25_000, good=23_749), "25,000 events, 94.996 % good, 0 % dead letters"),
        (
            seen(250_000, good=240_000, dead=2_510),
            "more than 1 % became dead letters, at 10 %: 250,000 events, 96",
        ),
        (seen(250_000, good=240_000, dead=2_501), "96 % good, 1.001 % dead letters"),
        (seen(1_000, good=990, dead=11), "more than 1 % became dead letters, at 10 %"),
        (seen(6, good=0), "fewer than 95 %"),
        (seen(1_000, good=0, obstacle="the meter of side blue does not answer"), "fewer than 95 %"),
    ],
)
def test_a_broken_limit_stops_it_one_step_back_at_once(known: Evidence, reason: str) -> None:
    at_ten = decided(PLAN, START, GOOD, EVERY)
    state = decided(PLAN, at_ten, known, EVERY + 1)
    assert (state.state, state.step, state.share, state.next_ms) == (RolloutPhase.STOPPED, 1, 1, None)
    assert reason in state.reason
    assert decided(PLAN, state, GOOD, 100 * EVERY) == state


@pytest.mark.parametrize(
    "known", [seen(1_000, good=950), seen(1_000, dead=10), seen(5, good=0), seen(1, dead=1)]
)
def test_what_keeps_the_limits_or_is_too_little_to_tell_stops_nothing(known: Evidence) -> None:
    assert decided(PLAN, START, known, 1).state is RolloutPhase.RISING


def test_at_the_first_step_it_stops_at_nothing() -> None:
    assert decided(PLAN, START, seen(1_000, good=0), 1).share == 0


def card(at_ms: int, events: int = 100, since_ms: int = 0, obstacle: str = "") -> RolloutCard:
    return RolloutCard(since_ms=since_ms, at_ms=at_ms, events=events, good=events, obstacle=obstacle)


NOW = 10 * GONE_MS


@pytest.mark.parametrize(
    ("cards", "events", "obstacle"),
    [
        ({}, 0, "the meter does not answer"),
        ({"blue": card(NOW), "green": card(NOW)}, 200, ""),
        ({"blue": card(NOW), "green": card(NOW, since_ms=7)}, 100, ""),
        ({"blue": card(NOW, since_ms=7)}, 0, "the meter does not answer"),
        (
            {"blue": card(NOW), "green": card(NOW - FRESH_MS - 1)},
            200,
            "the meter of side green does not answer",
        ),
        ({"blue": card(NOW), "green": card(NOW - GONE_MS - 1)}, 200, ""),
        (
            {"blue": card(NOW), "green": card(NOW - FRESH_MS - 1, since_ms=7)},
            100,
            "the meter of side green does not answer",
        ),
        ({"blue": card(NOW), "green": card(NOW - GONE_MS - 1, since_ms=7)}, 100, ""),
        ({"blue": card(NOW - FRESH_MS - 1)}, 100, "the meter does not answer"),
        ({"blue": card(NOW - GONE_MS - 1)}, 100, "the meter does not answer"),
        ({"blue": card(NOW), "green": card(NOW, obstacle="is not stable")}, 200, "side green is not stable"),
    ],
)
def test_cards_of_the_sides_add_up_and_a_silent_side_holds(
    cards: Mapping[str, RolloutCard], events: int, obstacle: str
) -> None:
    found = evidence(START, cards, NOW)
    assert (found.events, found.good, found.obstacle) == (events, events, obstacle)


def test_a_meter_that_falls_silent_before_a_step_begins_holds_the_pipe_at_that_step() -> None:
    """It has no card of the step; the other side's events alone would suffice."""
    began = decided(PLAN, START, GOOD, NOW)
    silent = card(NOW - 10_000, since_ms=START.since_ms)
    now_ms = NOW + EVERY
    cards = {"blue": card(now_ms, since_ms=began.since_ms), "green": silent}
    state = decided(PLAN, began, evidence(began, cards, now_ms), now_ms)
    assert (state.state, state.share) == (RolloutPhase.WAITING, 10)
    assert "the meter of side green does not answer" in state.reason
    again = {"blue": cards["blue"], "green": card(now_ms, since_ms=began.since_ms)}
    assert decided(PLAN, state, evidence(state, again, now_ms), now_ms).share == 50


plans = st.builds(
    Rollout,
    steps=st.lists(st.sampled_from(range(1, 100)), max_size=6, unique=True).map(lambda x: [*sorted(x), 100]),
    every=st.sampled_from(["10s", "5m", "1h"]),
    at_least=st.integers(1, 1_000),
    stop_below=st.floats(0, 100),
    stop_above=st.floats(0, 100),
)
facts = st.integers(0, 2_000).flatmap(
    lambda events: st.builds(
        Evidence,
        events=st.just(events),
        good=st.integers(0, events),
        dead=st.integers(0, events),
        obstacle=st.sampled_from(["", "", "the meter does not answer", "not stable"]),
    )
)


def is_bad(plan: Rollout, known: Evidence) -> bool:
    """The verdict by the definition alone."""
    if not known.events:
        return False
    return (
        100 * known.good / known.events < plan.stop_below or 100 * known.dead / known.events > plan.stop_above
    )


@given(plans, st.lists(st.tuples(facts, st.integers(0, 4_000_000)), max_size=40))
def test_it_never_goes_up_on_bad_silent_or_too_few_events_nor_too_early(
    plan: Rollout, turns: list[tuple[Evidence, int]]
) -> None:
    state, now_ms = standing(plan, None, 0), 0
    for known, passed_ms in turns:
        now_ms += passed_ms
        following = decided(plan, state, known, now_ms)
        assert following.share in (0, *plan.steps)
        if following.step > state.step:
            assert following.step == state.step + 1
            assert known.events >= plan.at_least and not known.obstacle and not is_bad(plan, known)
            assert now_ms - state.since_ms >= plan.every_ms
        if following.step < state.step:
            assert (following.state, following.step) == (RolloutPhase.STOPPED, state.step - 1)
        if state.state not in MOVING:
            assert following == state
        _holds_together(plan, following)
        state = following


def _holds_together(plan: Rollout, state: RolloutState) -> None:
    assert state.share == ([0, *plan.steps])[state.step]
    assert (state.next_ms is None) == (state.state not in MOVING)
    if state.state is RolloutPhase.DONE:
        assert state.share == 100


def activity(action: Action) -> Activity:
    return Activity(
        id="a", action=action, reason="release 1.4.0", owner="x", fence=1, since_ms=1, lease_seconds=9
    )


def test_a_side_that_is_unstable_or_worked_on_allows_no_step_and_the_customer_learns_no_more() -> None:
    fine = Stability(stable=True)
    lost = Stability(stable=False, reasons=("alarm loss: zoo lost 3 events",))
    assert side_obstacle([], fine) == side_obstacle([activity(Action.ROLLOUT_STEP)], fine) == ""
    assert side_obstacle([], lost) == "is not stable"
    for action in (Action.STEP_FORWARD, Action.SCALE_IN, Action.MAINTAIN):
        assert side_obstacle([activity(action)], fine) == "is being worked on by its operator"
