"""Activities of actors on a side, and their wishes: what they wait to do. Pure.

Both are items of one register (shared.dynamodb.activity_register), which observe shows. An item counts for as
long as its owner's beat moves: who reads it watches the beat by a clock of its own, so that clocks need not
agree.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct


class Actor(StrEnum):
    """Actors that change a side."""

    PROVISIONER = "provisioner"
    DEPLOYER = "deployer"
    AUTOSCALER = "autoscaler"
    MAINTENANCE = "maintenance"
    """A person, or AWS, who patches brokers or machines."""


class Action(StrEnum):
    """An action that an actor takes on a side."""

    ROLLOUT_STEP = "ramp step"
    """Raise the shares of pipes. Under way while that is written, not while they are watched afterwards."""

    REPLACE_CODE = "replace code"
    """Start other code on the side."""

    STEP_FORWARD = "step forward"
    """Any other step of a release: prove, shift traffic, drain, park."""

    STEP_BACK = "step back"
    """Undo a release."""

    SCALE_OUT = "scale out"
    SCALE_IN = "scale in"
    """`hifi scale` registers both. KEDA and the Cluster Autoscaler act at once and register neither."""

    MAINTAIN = "maintain"
    """Patch brokers or machines."""


ACTORS: Final = {
    Action.ROLLOUT_STEP: Actor.PROVISIONER,
    Action.REPLACE_CODE: Actor.DEPLOYER,
    Action.STEP_FORWARD: Actor.DEPLOYER,
    Action.STEP_BACK: Actor.DEPLOYER,
    Action.SCALE_OUT: Actor.AUTOSCALER,
    Action.SCALE_IN: Actor.AUTOSCALER,
    Action.MAINTAIN: Actor.MAINTENANCE,
}
"""The actor of each action."""


UNREAD_SECONDS: Final = 3_600
"""How long activities count as under way while the register cannot be read."""


class Activity(Struct, frozen=True, kw_only=True):
    """An action that is under way, or a wish for one."""

    id: str
    action: Action
    reason: str
    """The reason in words: `release 1.4.0`."""

    phase: str = ""
    """How far it is: `canary at 10 %`."""

    owner: str
    """Names the process, and no other."""

    fence: int
    """Rises from activity to activity of a side: what a later one wrote is not overwritten by an earlier."""

    since_ms: int
    """Epoch milliseconds, by its owner's clock."""

    lease_seconds: float
    """After so long without a beat it is over."""

    beat: int = 0

    @property
    def actor(self) -> Actor:
        """The actor of the action."""
        return ACTORS[self.action]

    @property
    def beats(self) -> bool:
        """Whether its owner beats while it acts. A person who patches says beforehand how long it takes."""
        return self.actor is not Actor.MAINTENANCE

    def may_last(self, read_ms: int, now_ms: int) -> bool:
        """Whether one that was under way when the register was read may still be, if it cannot be read since.

        Its owner may have beaten since then, but cannot act for long without the register.

        Args:
            read_ms: when it was read, epoch milliseconds.
            now_ms: now.
        """
        if self.beats:
            return 0 <= now_ms - read_ms < UNREAD_SECONDS * 1_000  # a clock may be set back
        return now_ms - self.since_ms < self.lease_seconds * 1_000

    def __str__(self) -> str:
        return shown_activity(self.action, self.reason, self.phase)


def shown_activity(action: Action, reason: str, phase: str) -> str:
    """An activity in words, for people."""
    return f"{ACTORS[action]}: {action} ({reason}{f', {phase}' if phase else ''})"


class UnderWay(Struct, frozen=True, kw_only=True):
    """Observe's answer about a side: its activities and wishes, oldest first."""

    activities: list[Activity]
    wishes: list[Activity]
    """Those that wait to begin."""
