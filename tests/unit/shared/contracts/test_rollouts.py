"""The requests that a rollout accepts, and the nodes' view of its pipe."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.document_parsing import ConfigError, parse
from shared.contracts.documents import Pipe
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import (
    NotApplicableError,
    RolloutAction,
    RolloutPhase,
    RolloutState,
    at_step,
    halted,
    opened,
    requested,
    standing,
)
from shared.matching.sampling import bucket, threshold

PLAN = Rollout(steps=[1, 10, 100])
PIPE = {"kind": "pipe", "name": "p", "tenant": "acme", "source": "s", "destination": "d"}
RISING = at_step(PLAN, 2, 5, revision=3)
STOPPED = halted(RISING, RolloutPhase.STOPPED, 1, 6, "bad")
PAUSED = halted(RISING, RolloutPhase.PAUSED, 2, 6, "on request")
EMPTY = halted(at_step(PLAN, 1, 5, revision=3), RolloutPhase.STOPPED, 0, 6, "bad")
DONE = halted(RISING, RolloutPhase.DONE, 3, 6, "")
PAUSE, RESUME, BACK, FINISH = RolloutAction


@pytest.mark.parametrize("every", ["5m\n", "5", "0m", "m", " 5m", "5m "])
def test_the_length_of_a_step_is_a_number_and_a_unit_and_nothing_else(every: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(PIPE | {"rollout": {"steps": [1, 100], "every": every}})
    assert refused.value.path == "$.rollout.every"


@pytest.mark.parametrize(
    ("state", "action", "phase", "step"),
    [
        (RISING, PAUSE, RolloutPhase.PAUSED, 2),
        (RISING, BACK, RolloutPhase.PAUSED, 1),
        (RISING, FINISH, RolloutPhase.DONE, 3),
        (PAUSED, RESUME, RolloutPhase.RISING, 2),
        (STOPPED, RESUME, RolloutPhase.RISING, 2),
        (EMPTY, RESUME, RolloutPhase.RISING, 1),
        (requested(PLAN, at_step(PLAN, 1, 5, revision=3), BACK, 6), RESUME, RolloutPhase.RISING, 1),
        (STOPPED, BACK, RolloutPhase.PAUSED, 0),
        (STOPPED, FINISH, RolloutPhase.DONE, 3),
        (DONE, BACK, RolloutPhase.PAUSED, 2),
    ],
)
def test_a_request_that_fits_is_followed(
    state: RolloutState, action: RolloutAction, phase: RolloutPhase, step: int
) -> None:
    found = requested(PLAN, state, action, 9)
    assert (found.state, found.step, found.share) == (phase, step, [0, *PLAN.steps][step])
    assert found.revision == state.revision
    assert found.since_ms == (
        state.since_ms if step == state.step and phase is not RolloutPhase.RISING else 9
    )


@pytest.mark.parametrize(
    ("state", "action"),
    [
        (PAUSED, PAUSE),
        (DONE, PAUSE),
        (STOPPED, PAUSE),
        (RISING, RESUME),
        (DONE, RESUME),
        (EMPTY, BACK),
        (DONE, FINISH),
    ],
)
def test_a_request_that_does_not_fit_is_refused_with_the_reason(
    state: RolloutState, action: RolloutAction
) -> None:
    with pytest.raises(NotApplicableError) as refused:
        requested(PLAN, state, action, 9)
    assert "{" not in str(refused.value)


def test_other_steps_begin_anew_and_other_limits_do_not() -> None:
    assert standing(Rollout(steps=[1, 10, 100], every="1h"), RISING, 9) is RISING
    anew = standing(Rollout(steps=[5, 100]), RISING, 9)
    assert (anew.step, anew.share, anew.since_ms, anew.revision) == (1, 5, 9, 3)


def test_nodes_see_the_share_of_the_step_and_nothing_of_the_rollout() -> None:
    pipe = parse(PIPE | {"rollout": {"steps": [1, 10, 100]}})
    assert opened(pipe, None) == parse(PIPE | {"sample": 1})
    assert opened(pipe, RISING) == parse(PIPE | {"sample": 10})
    assert opened(pipe, EMPTY) == parse(PIPE | {"sample": 0})
    plain = parse(PIPE)
    assert opened(plain, RISING) is plain


@given(st.text(min_size=1), st.integers(1, 2))
def test_going_up_only_adds_events(event_id: str, step: int) -> None:
    pipe = parse(PIPE | {"rollout": {"steps": [1, 10, 100]}})
    lower, higher = (opened(pipe, at_step(PLAN, each, 0, revision=0)) for each in (step, step + 1))
    assert isinstance(lower, Pipe) and isinstance(higher, Pipe)
    assert bucket(event_id) >= threshold(lower, 0) or bucket(event_id) < threshold(higher, 0)


@pytest.mark.parametrize(
    ("fields", "path"),
    [
        ({"rollout": {"steps": [10, 10, 100]}}, "$.rollout.steps[1]"),
        ({"rollout": {"steps": [10, 50]}}, "$.rollout.steps[1]"),
        ({"rollout": {"steps": [0.001, 100]}}, "$.rollout.steps[0]"),
        ({"rollout": {"steps": []}}, "$.rollout.steps"),
        ({"rollout": {"steps": [100], "every": "5 minutes"}}, "$.rollout.every"),
        ({"rollout": {"steps": [100], "ever": "5m"}}, "$.rollout.ever"),
        ({"rollout": {"steps": [1, 100]}, "sample": 50}, "$.sample"),
        ({"rollout": {"steps": [1, 100]}, "ramp": {"start": "2026-01-31T12:00:00Z", "minutes": 5}}, "$.ramp"),
    ],
)
def test_a_rollout_that_cannot_be_followed_is_refused_at_its_field(fields: dict[str, Any], path: str) -> None:
    with pytest.raises(ConfigError) as refused:
        parse(PIPE | fields)
    assert refused.value.path == path
