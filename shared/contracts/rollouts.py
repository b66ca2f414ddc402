"""How far the rollout of each pipe is, in the table `documents`, and what may be asked of it. Pure.

One item a pipe in the partition ROLLOUTS; who writes it says which revision it saw. Each side adds what its
meter says of the present step, in the partition ROLLOUT_CARDS.
"""

from collections.abc import Mapping, Sequence
from enum import StrEnum
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Document, Pipe
from shared.contracts.rollout_plan import Rollout

ROLLOUTS: Final = "rollouts#"
"""Partition of the states. One for all tenants: the provisioners of each side read it every second."""

ROLLOUT_CARDS: Final = "rollout_cards#"
"""Partition of the sides' cards."""

DECIDER: Final = "rollouts"
"""Sort key of the lease held by the one process that decides."""


class RolloutPhase(StrEnum):
    """The phase that a rollout is in."""

    RISING = "going up"
    """At a step that lasts a while yet."""

    WAITING = "waiting"
    """The step has lasted long enough, but the next one has to wait for what `reason` names."""

    STOPPED = "stopped"
    """A limit was broken: one step back, until a request says how to go on."""

    PAUSED = "paused"
    """On request."""

    DONE = "done"
    """Open."""


MOVING: Final = frozenset({RolloutPhase.RISING, RolloutPhase.WAITING})
"""Those that go on by themselves."""


class RolloutView(Struct, frozen=True, kw_only=True):
    """How far the rollout of one pipe is, as the management API shows it."""

    state: str
    """A RolloutPhase; a later version may have others."""

    step: int
    """1 is the first; at 0 the pipe takes nothing."""

    share: float
    """Percent of the matching events."""

    since_ms: int
    """Since when this step, epoch milliseconds."""

    reason: str = ""
    next_ms: int | None = None
    """The earliest time of the next step, epoch milliseconds; None if it does not go on by itself."""


class RolloutState(RolloutView, frozen=True, kw_only=True):
    """The same as it is kept."""

    state: RolloutPhase
    side: str = ""
    """The side of the provisioner that wrote it; empty for a request."""

    steps: list[float]
    """Steps of its document; if the document has other ones, the rollout begins anew."""

    revision: int = 0
    """One more at each write; 0 is not in the table yet."""


class RolloutCard(Struct, frozen=True, kw_only=True):
    """The figures of a side's meter for a pipe since a step began."""

    since_ms: int
    """When the step began."""

    at_ms: int
    """When the meter said it, epoch milliseconds."""

    events: int = 0
    """Events that hifi tried to deliver, of minutes that are complete."""

    good: int = 0
    dead: int = 0
    obstacle: str = ""
    """Why the side does not allow a step up now; empty if it does. Customers read it: it names no one."""


class RolloutAction(StrEnum):
    """An action that may be asked for on a rollout."""

    PAUSE = "pause"
    RESUME = "resume"
    BACK = "back"
    FINISH = "finish"


class NotApplicableError(Exception):
    """A request that does not fit the state; the text says why."""


def state_key(tenant: str, pipe: str) -> str:
    """Sort key of a pipe's state."""
    return f"{tenant}/{pipe}"


def tenant_and_pipe(key: str) -> tuple[str, str]:
    """The tenant and the pipe in a `state_key`."""
    tenant, _, pipe = key.partition("/")
    return tenant, pipe


def card_key(state: str, side: str) -> str:
    """Sort key of a side's card; `state` is that of the state."""
    return f"{state}/{side}"


def key_and_side(sort: str) -> tuple[str, str]:
    """The state's sort key and the side in a card's."""
    key, _, side = sort.rpartition("/")
    return key, side


def at_step(rollout: Rollout, step: int, now_ms: int, *, revision: int, reason: str = "") -> RolloutState:
    """Going up, from now on at a step."""
    return RolloutState(
        state=RolloutPhase.RISING,
        step=step,
        share=_share(rollout.steps, step),
        since_ms=now_ms,
        next_ms=now_ms + rollout.every_ms,
        reason=reason,
        steps=rollout.steps,
        revision=revision,
    )


def standing(rollout: Rollout, stored: RolloutState | None, now_ms: int) -> RolloutState:
    """The state that holds for a document: that in the table, or a new one if its steps are others."""
    if stored is None:
        return at_step(rollout, 1, now_ms, revision=0)
    if stored.steps != rollout.steps:
        return at_step(rollout, 1, now_ms, revision=stored.revision)
    return stored


def halted(state: RolloutState, phase: RolloutPhase, step: int, now_ms: int, reason: str) -> RolloutState:
    """At a step that it does not leave by itself."""
    return replace(
        state,
        state=phase,
        step=step,
        share=_share(state.steps, step),
        since_ms=state.since_ms if step == state.step else now_ms,
        next_ms=None,
        reason=reason,
    )


def _share(steps: Sequence[float], step: int) -> float:
    return steps[step - 1] if step else 0.0


def requested(rollout: Rollout, state: RolloutState, action: RolloutAction, now_ms: int) -> RolloutState:
    """The state after a request.

    Raises:
        NotApplicableError: if it does not fit.
    """
    match action:
        case RolloutAction.PAUSE if state.state in MOVING:
            return halted(state, RolloutPhase.PAUSED, state.step, now_ms, "on request")
        case RolloutAction.RESUME if state.state is RolloutPhase.STOPPED or not state.step:
            return at_step(rollout, state.step + 1, now_ms, revision=state.revision)
        case RolloutAction.RESUME if state.state is RolloutPhase.PAUSED:
            return at_step(rollout, state.step, now_ms, revision=state.revision)
        case RolloutAction.BACK if state.step:
            return halted(state, RolloutPhase.PAUSED, state.step - 1, now_ms, "one step back on request")
        case RolloutAction.FINISH if state.state is not RolloutPhase.DONE:
            last = len(rollout.steps)
            return halted(state, RolloutPhase.DONE, last, now_ms, "opened on request")
    raise NotApplicableError(_REFUSALS[action].format(state=state.state))


_REFUSALS: Final[Mapping[RolloutAction, str]] = {
    RolloutAction.PAUSE: "the rollout is {state}: only one that is going up or waiting can be paused",
    RolloutAction.RESUME: "the rollout is {state}: only one that is paused or stopped can be resumed",
    RolloutAction.BACK: "the pipe takes nothing already: there is no step to go back to",
    RolloutAction.FINISH: "the rollout is {state} already",
}


def opened(document: Document, stored: RolloutState | None) -> Document:
    """The document as nodes are to see it: a pipe with a rollout takes the share of its present step."""
    if not isinstance(document, Pipe) or document.rollout is None:
        return document
    share = standing(document.rollout, stored, 0).share
    return replace(document, sample=share, rollout=None)


def as_published(each: StoredDocument, states: Mapping[str, RolloutState]) -> StoredDocument:
    """A version as nodes are to see it; `states` by `state_key`."""
    if not isinstance(each.document, Pipe) or each.document.rollout is None:
        return each
    return replace(each, document=opened(each.document, states.get(state_key(each.tenant, each.key.name))))
