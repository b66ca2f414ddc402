"""Activities on a side and its stability over time, as observe answers them. Pure."""

from collections.abc import Sequence
from enum import StrEnum

from msgspec import Struct

from shared.contracts.diamond.activities import Action, Actor


class Health(StrEnum):
    """Whether observe said that its side is stable."""

    STABLE = "stable"
    UNSTABLE = "not stable"
    UNKNOWN = "not known"
    """observe had judged nothing for a minute."""


class HealthSpan(Struct, frozen=True, kw_only=True):
    """A time in which the side was one of these."""

    health: Health
    reasons: Sequence[str] = ()
    """Why it was not stable; reasons that differ only by a figure count as one, and the newest is kept."""

    from_ms: int
    """Epoch milliseconds."""

    until_ms: int | None
    """Epoch milliseconds; None if it is so now."""


class ActivitySpan(Struct, frozen=True, kw_only=True):
    """A time in which an activity was in one phase."""

    id: str
    """The activity's."""

    actor: Actor
    action: Action
    reason: str
    phase: str = ""
    """How far it was: the step of a release."""

    from_ms: int
    """Epoch milliseconds."""

    until_ms: int | None
    """Epoch milliseconds; None if it goes on."""


class Timeline(Struct, frozen=True, kw_only=True):
    """The known activities and health of a time, oldest first.

    Nothing is known of a time without a span of health: observe did not run or could not look, or it is
    longer ago than a day, or than the spans that are kept.
    """

    activities: Sequence[ActivitySpan] = ()
    health: Sequence[HealthSpan] = ()
