import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.experiments.harness.search import (
    Length,
    NextTrial,
    SearchRange,
    Trial,
    held_rate,
    most_trials,
    next_trial,
)


@st.composite
def some_bounds(draw: st.DrawFn) -> SearchRange:
    step = draw(st.integers(1, 5_000))
    start = draw(st.integers(1, 40))
    highest = draw(st.integers(start, 200))
    return SearchRange(step=step, start=start * step, highest=highest * step, holds=draw(st.integers(1, 5)))


def search(bounds: SearchRange, probe_limit: int, hold_limit: int) -> list[Trial]:
    trials: list[Trial] = []
    while ask := next_trial(trials, bounds):
        limit = hold_limit if ask.length is Length.HOLD else probe_limit
        trials.append(Trial(ask.rate, ask.length, held=ask.rate <= limit))
        assert len(trials) <= most_trials(bounds)
    return trials


@given(some_bounds(), st.integers(0, 300_000))
def test_search_finds_the_threshold_of_any_monotone_step_function(bounds: SearchRange, limit: int) -> None:
    trials = search(bounds, limit, limit)
    assert held_rate(trials) == min(limit, bounds.highest) // bounds.step * bounds.step


@given(some_bounds(), st.integers(0, 300_000), st.integers(0, 300_000))
def test_search_ends_and_never_rates_above_what_a_hold_held(
    bounds: SearchRange, probes: int, holds: int
) -> None:
    trials = search(bounds, probes, holds)
    assert held_rate(trials) <= min(probes, holds, bounds.highest)
    assert sum(trial.length is Length.HOLD for trial in trials) <= bounds.holds


@given(some_bounds(), st.lists(st.booleans(), max_size=60))
def test_search_ends_on_noisy_answers_and_tries_no_rate_twice(
    bounds: SearchRange, answers: list[bool]
) -> None:
    trials: list[Trial] = []
    for answer in answers:
        ask = next_trial(trials, bounds)
        if ask is None:
            break
        assert bounds.step <= ask.rate <= bounds.highest
        assert (ask.rate, ask.length) not in {(t.rate, t.length) for t in trials}
        trials.append(Trial(ask.rate, ask.length, held=answer))
    assert len(trials) <= most_trials(bounds)


def test_a_failed_hold_is_followed_by_a_hold_one_step_lower() -> None:
    bounds = SearchRange(step=10, start=10, highest=20)
    trials = [Trial(10, Length.PROBE, held=True), Trial(20, Length.PROBE, held=True)]
    assert next_trial(trials, bounds) == NextTrial(20, Length.HOLD)
    trials.append(Trial(20, Length.HOLD, held=False))
    assert next_trial(trials, bounds) == NextTrial(10, Length.HOLD)


def test_bounds_that_are_no_multiples_of_the_step_are_refused() -> None:
    with pytest.raises(ValueError, match="multiples"):
        SearchRange(step=10, start=15, highest=20)
