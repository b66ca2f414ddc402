"""How far the deployer is, in the table `documents`: one release at a time, and those before it. Pure.

A release is anything that moves traffic between the two sides. The present one is the item CURRENT of the
partition RELEASES; each that has ended is also kept under its number. Who writes it says which revision it
saw.
"""

from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.contracts.release_steps import BACKWARD, ENDS, PLANS, RESTS_AFTER, Kind, Step

CURRENT: Final = "current"
"""Sort key of the one that is under way, or that ended last."""

DEPLOYER: Final = "deployer"
"""Sort key of the lease held by the one process that deploys."""


class Positions(Struct, frozen=True, kw_only=True):
    """Where a side stands: for each `topic/partition` the offset of the next record."""

    queries: dict[str, dict[str, int]] = {}
    """Offsets in the checkpoint of each streaming query."""

    groups: dict[str, dict[str, int]] = {}
    """Committed offsets of each consumer group."""


class Finding(StrEnum):
    """The result of a comparison of two sides."""

    GOOD = "good"
    EARLY = "too early to say"
    BAD = "bad"


class Verdict(Struct, frozen=True, kw_only=True):
    """A judgement of the target's minutes, and why."""

    finding: Finding
    words: list[str]
    """A sentence each, with figures."""

    replay: bool = False
    """Whether what the version processed is wrong, so that it has to be processed again."""

    step: Step = Step.WATCH
    first: int = 0
    """The minutes that were judged, epoch minutes, `last` included."""

    last: int = 0
    warm_from: int = 0
    """The first minute whose late events count, epoch minute; 0 if all do."""

    at_ms: int = 0


class Passed(Struct, frozen=True, kw_only=True):
    """A step that is over."""

    step: Step
    since_ms: int
    until_ms: int
    said: str = ""
    """The outcome, in words."""


class Release(Struct, frozen=True, kw_only=True):
    """One release, as far as it is."""

    number: int
    kind: Kind
    version: str = ""
    """The version that the target gets; empty until it is known."""

    step: Step = Step.PREFLIGHT
    since_ms: int
    """Since when this step, epoch milliseconds."""

    limit_from_ms: int = 0
    """From when the limit of a step that gives the target traffic counts, epoch milliseconds, if it could not
    act before; 0 is from its beginning.
    """

    asked_by: str
    asked_ms: int
    target: str = ""
    """The side that is to take the traffic; empty until it is known."""

    former: str = ""
    """The side that had it."""

    former_version: str = ""
    """The version that the former side runs."""

    canary_tenants: list[str] = []
    """The customers that the target's first traffic comes from; empty: a share of all."""

    snapshot: Positions | None = None
    """Where the target stood before its code was replaced."""

    leftovers: bool = False
    """Whether the target had records then that it had not read, which its version processes before its first
    share. They may be customers', of a release that was unfinished.
    """

    left_at: Positions | None = None
    """Where the bad version stood when it was stopped, without queries with a checkpoint that it spoilt."""

    stopped_ms: int = 0
    """When it was seen to be stopped, epoch milliseconds; 0 before."""

    woken: bool = False
    """Whether the former side is started again on the way back, and waited for."""

    reached: Step = Step.PREFLIGHT
    """The last step forward that was begun."""

    traffic_ms: int = 0
    """Since when the traffic is shared as it is now, epoch milliseconds; 0 before it was touched, and while a
    side that is to be stopped has some by hand.
    """

    by_hand: bool = False
    """Whether an operator gave traffic to the side that is put right."""

    back: str = ""
    """Why it is undone; empty while it goes forward."""

    unready_ms: int = 0
    """Since when the side that the step looks at has not been ready or, while another one warms up, its
    observe has not answered; epoch milliseconds, 0 if neither.
    """

    hurried: bool = False
    """Whether a switch did not wait until its side was warm: the one it left was not stable, or silent."""

    unfinished: str = ""
    """The problem that could not be put right, and what to do; empty if everything could."""

    replay: bool = False
    """Whether undoing goes back to the snapshot."""

    waits: list[str] = []
    """Why it does not go on at the moment, a sentence each."""

    waits_since_ms: int = 0
    """Since when there has been something to wait for, epoch milliseconds; says nothing without `waits`."""

    problem_ms: int = 0
    """Since when the place could not be asked or changed in this step, epoch milliseconds; 0 if it could."""

    said: str = ""
    """How far the step is, in words."""

    log: list[Passed] = []
    verdicts: list[Verdict] = []

    term: int = 0
    """Rises when another process takes over: the fence of everything that is done to the sides."""

    owner: str = ""
    """The process that works on it."""

    revision: int = 0
    """One more at each write; 0 is not in the table yet."""

    @property
    def ended(self) -> bool:
        """Whether nothing more happens."""
        return self.step in ENDS

    @property
    def changed_nothing(self) -> bool:
        """Whether it was refused before it changed code or weights."""
        return self.step is Step.UNDONE and self.reached in (Step.PREFLIGHT, Step.SNAPSHOT)

    @property
    def plan(self) -> tuple[Step, ...]:
        """Its steps, if nothing goes wrong."""
        return PLANS[self.kind]

    @property
    def to_come(self) -> tuple[Step, ...]:
        """The steps after the present one, while it goes forward."""
        if self.ended or self.back:
            return ()
        return self.plan[self.plan.index(self.step) + 1 :]

    @property
    def opened(self) -> bool:
        """Whether this release may have given the target traffic."""
        return self.has_reached(Step.CANARY, Step.BOTH, Step.ALL)

    @property
    def carried(self) -> bool:
        """Whether the target may have had customers' events, of a version that is not known to be good."""
        return self.kind is not Kind.ROLLBACK and (self.opened or self.by_hand)

    @property
    def processed(self) -> bool:
        """Whether that version may have processed customers' events: new ones, or such as it found there."""
        return self.carried or (self.kind is not Kind.ROLLBACK and self.leftovers)

    def has_reached(self, *steps: Step) -> bool:
        """Whether one of these steps forward was begun."""
        at = self.plan.index(self.reached)
        return any(step in self.plan and self.plan.index(step) <= at for step in steps)

    @property
    def traffic_rests(self) -> bool:
        """Whether all traffic is where it ends; the rest drains, catches up or is parked."""
        if self.ended:
            return True
        if self.back:
            return self.step in BACKWARD and BACKWARD.index(self.step) > BACKWARD.index(Step.GIVE_BACK)
        last = max(self.plan.index(step) for step in RESTS_AFTER if step in self.plan)
        return self.plan.index(self.step) > last

    @property
    def faulty(self) -> str:
        """The side that is put right: by a rollback the one that it leaves, on any way back the target."""
        forward = self.kind is Kind.ROLLBACK and self.has_reached(Step.ALL) and not self.back
        return self.former if forward else self.target

    @property
    def good_version(self) -> str:
        """The version that is trusted on the way back."""
        return self.version if self.kind is Kind.ROLLBACK else self.former_version


class SideState(Struct, frozen=True, kw_only=True):
    """A side as the deployer last saw it."""

    side: str
    at_ms: int
    """When, epoch milliseconds."""

    version: str = ""
    """The version that runs, or that ran last on a parked side."""

    parked: bool = True
    share: int = 0
    """Of the traffic, percent."""

    stable: bool = False
    reasons: list[str] = []
    """Why it is not stable, a sentence each."""

    unread: int | None = None
    """Records that its chain has not read; None if that is not known."""

    waiting: int = 0
    """Events that wait for their next try."""

    rating: float | None = None
    """Events per second of its newest load test."""

    rating_p95_ms: float | None = None
    problem: str = ""
    """Why it could not be asked."""


def side_key(side: str) -> str:
    """Sort key of a side's state."""
    return f"side/{side}"


def history_key(number: int) -> str:
    """Sort key of a release that has ended; text order is their order."""
    return f"ended/{number:08d}"
