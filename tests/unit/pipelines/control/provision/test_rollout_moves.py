"""Only a pipe's next share is a step up, and it acts on every side that is alive."""

from msgspec.structs import replace

from pipelines.control.provision.rollout_decision import GONE_MS
from pipelines.control.provision.rollout_moves import Move, moved, shown_steps
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import RolloutCard, RolloutPhase, RolloutState, at_step

PLAN = Rollout(steps=[1, 10, 100])
EVERY = PLAN.every_ms
NOW = 10 * GONE_MS
BEGAN = at_step(PLAN, 1, NOW - EVERY, revision=1)


def card(good: int = 1_000, at_ms: int = NOW, since_ms: int = NOW - EVERY) -> RolloutCard:
    return RolloutCard(since_ms=since_ms, at_ms=at_ms, events=1_000, good=good)


def move(former: RolloutState | None = BEGAN, good: int = 1_000, plan: Rollout = PLAN) -> Move:
    return moved("acme/orders", plan, former, {"blue": card(good)}, NOW)


def test_only_the_next_share_is_a_step_up() -> None:
    assert (move().rises, move().after.share) == (True, 10)
    first, other = move(None), move(replace(BEGAN, step=2), plan=Rollout(steps=[5, 100]))
    assert [(each.rises, each.after.step) for each in (first, other)] == [(False, 1)] * 2, "nodes have it"
    back, done = move(good=0), move(replace(BEGAN, step=3, share=100))
    assert [each.after.state for each in (back, done)] == [RolloutPhase.STOPPED, RolloutPhase.DONE]
    assert not back.rises
    assert not done.rises


def test_a_step_up_that_is_refused_waits_and_says_for_what() -> None:
    waiting = move().waiting("side blue is being worked on by its operator", NOW)
    assert (waiting.rises, waiting.after.state, waiting.after.share) == (False, RolloutPhase.WAITING, 1)
    assert waiting.after.reason.startswith("side blue is being worked on by its operator; 1,000 events")


def test_it_acts_on_the_sides_that_are_not_switched_off() -> None:
    cards = {"blue": card(), "green": card(since_ms=7), "gone": card(at_ms=NOW - GONE_MS - 1)}
    assert moved("acme/orders", PLAN, BEGAN, cards, NOW).sides == {"blue", "green"}


def test_one_step_is_shown_by_name_and_of_more_how_many() -> None:
    assert shown_steps([move()]) == "pipe acme/orders to 10 %"
    assert shown_steps([move()] * 3) == "3 pipes, the first is acme/orders to 10 %"
