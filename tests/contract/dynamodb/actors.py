"""The processes of a side's actors, with their activities, and each with wrong clocks of its own."""

from collections.abc import Mapping, Sequence
from typing import Protocol
from uuid import uuid4

from hypothesis import HealthCheck, settings
from hypothesis.stateful import RuleBasedStateMachine, run_state_machine_as_test

from shared.contracts.diamond.activities import Action, Activity, Actor
from shared.contracts.diamond.stability import SILENT, Stability
from shared.dynamodb.activity_register import ActivityRegister, Waits

TABLE = "activities"
LEASE = 10.0
STABLE = Stability(stable=True)
HEALTHS = (*[STABLE] * 4, Stability(stable=False, reasons=("burn",)), SILENT)
RATES = {Actor.PROVISIONER: 0.98, Actor.DEPLOYER: 1.02, Actor.AUTOSCALER: 1.0, Actor.MAINTENANCE: 0.97}
"""Speed of each actor's clock."""

WALL_MS = 1_800_000_000_000
MOST_SKEW = 125.0
"""Seconds that a wall clock may be wrong: two differ by up to 250, and a register tolerates 300."""

WALL_SKEWS = {
    Actor.PROVISIONER: MOST_SKEW,
    Actor.DEPLOYER: -MOST_SKEW,
    Actor.AUTOSCALER: -MOST_SKEW,
    Actor.MAINTENANCE: MOST_SKEW,
}
"""Initial error of each actor's wall clock, seconds."""

WALL_RATES = {
    Actor.PROVISIONER: 1.002,
    Actor.DEPLOYER: 0.998,
    Actor.AUTOSCALER: 1.0,
    Actor.MAINTENANCE: 0.997,
}
"""Speed of each wall clock. It is corrected now and then, so it errs less than a clock that only counts."""


def wall_ms(actor: Actor, seconds: float, skews: Mapping[Actor, float]) -> int:
    """An actor's wall-clock time after the given true seconds, epoch milliseconds."""
    return WALL_MS + int(1_000 * (seconds * WALL_RATES[actor] + skews[actor]))


class SharedSide(Protocol):
    """A side on which actors act, their shared table, and the true time."""

    @property
    def url(self) -> str | None: ...

    @property
    def side(self) -> str: ...

    @property
    def health(self) -> Stability: ...

    @property
    def time(self) -> float: ...

    @property
    def skews(self) -> Mapping[Actor, float]: ...

    @property
    def gone(self) -> Sequence["Process"]:
        """Processes that crashed."""


class Process:
    """An actor's process: its register, its activity, and its last heartbeat by its own clock."""

    def __init__(self, diamond: SharedSide, actor: Actor) -> None:
        self.name = f"{actor}-{uuid4().hex[:6]}"
        self.offset = len(diamond.gone) * 1_000.0
        self.diamond, self.actor = diamond, actor
        self.register = ActivityRegister(
            TABLE,
            diamond.url,
            side=diamond.side,
            owner=self.name,
            clock=lambda: wall_ms(actor, diamond.time, diamond.skews),
            monotonic=self.now,
            pause=lambda _: None,
        )
        self.held: Activity | None = None
        self.wish: Action | None = None
        self.beat_at = 0.0

    def now(self) -> float:
        return self.offset + self.diamond.time * RATES[self.actor]

    @property
    def sure(self) -> bool:
        """Whether it holds its activity as far as it knows: without heartbeats it stops by itself."""
        return self.held is not None and self.now() - self.beat_at <= LEASE

    def begin(self, action: Action) -> Activity | Waits:
        """Begin an action as the actors do: a ramp step leaves no wish."""
        wishes = action is not Action.ROLLOUT_STEP
        begin = self.register.begin if wishes else self.register.begin_without_wish
        found = begin(action, "test", self.diamond.health, lease_seconds=LEASE)
        if isinstance(found, Activity):
            self.held, self.beat_at, self.wish = found, self.now(), None
        elif wishes:
            self.wish = action
        return found


def run_histories(machine: type[RuleBasedStateMachine], examples: int) -> None:
    """Check so many histories of 40 steps; a step may take long, as it calls a real table."""
    run_state_machine_as_test(
        machine,
        settings=settings(
            max_examples=examples,
            stateful_step_count=40,
            deadline=None,
            suppress_health_check=list(HealthCheck),
        ),
    )
