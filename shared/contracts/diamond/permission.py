"""Whether an actor may act on a side: one function of what it wants, what others do, and health. Pure."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Struct

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability

_RELEASING: Final = frozenset({Action.REPLACE_CODE, Action.STEP_FORWARD, Action.STEP_BACK})
_SCALING: Final = frozenset({Action.SCALE_OUT, Action.SCALE_IN})


class _Rule(Struct, frozen=True, kw_only=True):
    """When an action waits."""

    needs_stable: bool
    waits_for: frozenset[Action]
    forcible: bool = False
    """Whether an operator may let it through all the same."""


_FORWARD: Final = _Rule(
    needs_stable=True, waits_for=_RELEASING | _SCALING | {Action.ROLLOUT_STEP, Action.MAINTAIN}
)
_NEVER: Final = _Rule(needs_stable=False, waits_for=frozenset())

RULES: Final[Mapping[Action, _Rule]] = {
    Action.ROLLOUT_STEP: _Rule(needs_stable=True, waits_for=_RELEASING | _SCALING | {Action.MAINTAIN}),
    Action.REPLACE_CODE: _FORWARD,
    Action.STEP_FORWARD: _FORWARD,
    # Latency and the way back come first: nothing may delay them.
    Action.STEP_BACK: _NEVER,
    Action.SCALE_OUT: _NEVER,
    # A worker that makes the side unstable is taken away by a person.
    Action.SCALE_IN: _Rule(needs_stable=True, waits_for=_RELEASING | {Action.MAINTAIN}, forcible=True),
    # AWS patches when it wants; a person waits for what a patch would disturb.
    Action.MAINTAIN: _Rule(
        needs_stable=False, waits_for=_RELEASING | _SCALING | {Action.ROLLOUT_STEP}, forcible=True
    ),
}
"""The rules by which each action waits on its side: the table of docs/control.md."""

NOT_STABLE: Final = "the side is not stable"
"""So begins each reason to wait that is the side's health."""


def reasons_to_wait(
    wanted: Action, others: Iterable[Activity], health: Stability, *, forced: bool = False
) -> Sequence[str]:
    """Why an action has to wait now, a sentence each; empty if it may begin.

    Args:
        wanted: the action to begin; none of the others belongs to the process that wants it.
        others: what is under way on the side.
        health: what observe says of the side; SILENT if it says nothing.
        forced: an operator lets it through; counts for actions that may be forced only.
    """
    rule = RULES[wanted]
    if forced and rule.forcible:
        return ()
    reasons = [f"{each} is under way" for each in others if each.action in rule.waits_for]
    if rule.needs_stable and not health.stable:
        reasons += [f"{NOT_STABLE}: {each}" for each in health.reasons or ("no reason given",)]
    return tuple(reasons)


def yields_to(wanted: Action, older: Iterable[Activity], health: Stability) -> Sequence[str]:
    """Older wishes that wait only for what is under way, and for this action if it began; a sentence each.

    So none waits for ever: what is under way ends, and nothing that the oldest wish waits for begins first.
    An action that never waits does not yield either, and a wish that health holds up does not delay others.
    """
    if RULES[wanted] is _NEVER:
        return ()
    return tuple(
        f"{each} asked earlier"
        for each in older
        if wanted in RULES[each.action].waits_for and not reasons_to_wait(each.action, (), health)
    )
