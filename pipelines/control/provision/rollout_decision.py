"""Whether a pipe's rollout goes up, waits or stops. Pure."""

from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.cut import cut_short, raised_short
from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.permission import reasons_to_wait
from shared.contracts.diamond.stability import Stability
from shared.contracts.rollout_plan import Rollout
from shared.contracts.rollouts import (
    MOVING,
    RolloutCard,
    RolloutPhase,
    RolloutState,
    at_step,
    halted,
)

FRESH_MS: Final = 60_000
"""A card older than this is silence."""

GONE_MS: Final = 600_000
"""A side with a card older than this is taken for switched off."""

_SILENT: Final = "the meter does not answer"
_OPERATED: Final = "is being worked on by its operator"


class Evidence(Struct, frozen=True, kw_only=True):
    """A pipe's figures since the present step began, over all sides, and the obstacle to a step up."""

    events: int = 0
    """Events that hifi has tried to deliver, of minutes that are complete."""

    good: int = 0
    dead: int = 0
    obstacle: str = _SILENT
    """Why it must not go up now, whatever the figures are; empty if nothing is in the way."""

    def __str__(self) -> str:
        """The figures in words."""
        if not self.events:
            return "no events yet"
        good = cut_short(100 * self.good / self.events, 3)
        dead = raised_short(100 * self.dead / self.events, 3)
        return f"{self.events:,} events, {good} % good, {dead} % dead letters"


def evidence(state: RolloutState, cards: Mapping[str, RolloutCard], now_ms: int) -> Evidence:
    """The sum of the sides' cards of the present step, and whether a side is silent.

    Args:
        state: how far the rollout is.
        cards: the newest of each side. One of an earlier step adds no events, but its age shows for how long
            the side's meter has been silent.
        now_ms: now, epoch milliseconds.
    """
    of_step = {side: card for side, card in cards.items() if card.since_ms == state.since_ms}
    known = of_step.values()
    return Evidence(
        events=sum(card.events for card in known),
        good=sum(card.good for card in known),
        dead=sum(card.dead for card in known),
        obstacle=next(_obstacles(cards, of_step, now_ms), ""),
    )


def _obstacles(
    cards: Mapping[str, RolloutCard], of_step: Mapping[str, RolloutCard], now_ms: int
) -> Iterator[str]:
    ages = {side: now_ms - card.at_ms for side, card in cards.items()}
    if all(ages[side] > FRESH_MS for side in of_step):
        yield _SILENT
    for side, card in sorted(cards.items()):
        if FRESH_MS < ages[side] <= GONE_MS:
            yield f"the meter of side {side} does not answer"
        elif side in of_step and card.obstacle and ages[side] <= FRESH_MS:
            yield f"side {side} {card.obstacle}"


def side_obstacle(others: Iterable[Activity], health: Stability) -> str:
    """Why a side does not allow a step up now, in words that any customer may read; empty if it does."""
    if not health.stable:
        return "is not stable"
    if reasons_to_wait(Action.ROLLOUT_STEP, others, health):
        return _OPERATED
    return ""


def operated(side: str) -> str:
    """Why a step up waits while others act on a side, in words that any customer may read."""
    return f"side {side} {_OPERATED}"


def living_sides(cards: Mapping[str, RolloutCard], now_ms: int) -> frozenset[str]:
    """Sides that are not taken for switched off."""
    return frozenset(side for side, card in cards.items() if now_ms - card.at_ms <= GONE_MS)


def decided(rollout: Rollout, state: RolloutState, known: Evidence, now_ms: int) -> RolloutState:
    """The next state; the same if nothing is to change.

    A step that breaks a limit is taken back at once, as soon as `at_least` events could not keep it any more.
    After that, and after a pause, nothing happens by itself.

    Args:
        rollout: what the document says.
        state: how far it is; of the same steps.
        known: what is known since the step began.
        now_ms: now, epoch milliseconds.
    """
    if state.state not in MOVING:
        return state
    broken = _broken(rollout, known)
    if broken:
        said = f"{broken}, at {state.share:g} %: {known}"
        return halted(state, RolloutPhase.STOPPED, state.step - 1, now_ms, said)
    due_ms = state.since_ms + rollout.every_ms
    if now_ms < due_ms:
        return replace(state, state=RolloutPhase.RISING, next_ms=due_ms, reason=str(known))
    lacking = _lacking(rollout, known)
    if lacking:
        return replace(state, state=RolloutPhase.WAITING, next_ms=due_ms, reason=f"{lacking}; {known}")
    if state.step == len(rollout.steps):
        return halted(state, RolloutPhase.DONE, state.step, now_ms, str(known))
    return at_step(rollout, state.step + 1, now_ms, revision=state.revision)


def _broken(rollout: Rollout, known: Evidence) -> str:
    """The limit that the step breaks, judged over at least `at_least` events: those to come may be good."""
    judged = max(known.events, rollout.at_least)
    good_share = 100 * (judged - (known.events - known.good)) / judged
    if good_share < rollout.stop_below:
        return f"fewer than {rollout.stop_below:g} % were good"
    if 100 * known.dead / judged > rollout.stop_above:
        return f"more than {rollout.stop_above:g} % became dead letters"
    return ""


def _lacking(rollout: Rollout, known: Evidence) -> str:
    if known.obstacle:
        return known.obstacle
    if known.events < rollout.at_least:
        return f"{known.events:,} of {rollout.at_least:,} events"
    return ""
