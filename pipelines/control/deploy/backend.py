"""The interface that a release needs of the place where the two sides run.

One protocol with two kinds of place: two local sides behind HAProxy, and AWS. The suite in
tests/harness/backend_conformance.py holds for every one of them.

The deployer's setting HIFI_BACKEND names a function, `package.module:function`, that takes nothing and
returns a Backend; what it needs is in environment variables of its own.

Rules for all methods:

- Each returns within about ten seconds. What takes longer goes on in the background, and the next call says
  how far it is: the deployer asks again every second or so.
- Each may be called twice, and again after the process that called it died: the second call finds done what
  the first one did, or goes on with it.
- `fence` rises whenever another process takes over the deployer's work. A call with a lower one than the
  place has seen changes nothing and raises FencedError.
"""

from collections.abc import Mapping, Sequence
from types import MappingProxyType
from typing import Final, Protocol

from msgspec import Struct

from shared.contracts.diamond.stability import Stability
from shared.contracts.releases import Positions

Weights = Mapping[str, int]
"""Each side's share of the traffic in percent; they add up to 100."""

Pinned = Mapping[str, str]
"""The side that takes a tenant's events whatever the weights are, by tenant."""


NONE_PINNED: Final[Pinned] = MappingProxyType({})


class BackendError(Exception):
    """The place cannot be asked or changed just now; the text says why. It is worth another try."""


class RefusedError(BackendError):
    """The side answered 400 to the request, as an earlier version may."""


class FencedError(Exception):
    """Another deployer has taken over: this one has to stop."""


class CannotReplayError(Exception):
    """The place cannot go back to these positions; the text says why. No other try will help."""


class Deployed(Struct, frozen=True, kw_only=True):
    """The code of a side: its version, and whether any of it runs."""

    version: str = ""
    """The version that runs, or that ran last on a parked side; empty if there never was one."""

    parked: bool = True
    """Whether none of its code runs; its brokers may."""


class Obstacle(Struct, frozen=True, kw_only=True):
    """Why a version cannot be released to a side."""

    text: str
    """A sentence: `version 1.4.0 cannot read the checkpoint of route`."""

    lasting: bool
    """Whether waiting does not help; a broker that is being patched is an obstacle that passes."""


class Readiness(Struct, frozen=True, kw_only=True):
    """Whether a side could take traffic."""

    ready: bool
    waiting_for: Sequence[str] = ()
    """Programs that are not ready, and why, in words."""

    crashes: int = 0
    """How often programs of this version have ended by themselves since it was started."""


class Proof(Struct, frozen=True, kw_only=True):
    """The outcome, as far as it is known, of events that were sent through one side only."""

    sent: int = 0
    """Events that the side acknowledged."""

    arrived: int = 0
    """Those that arrived byte for byte, each counted once."""

    doubled: int = 0
    """Those that arrived more than once."""

    changed: int = 0
    """Those that arrived with other bytes."""

    refused: int = 0
    """Those that the side did not take."""

    missing: int = 0
    """Those that the side acknowledged long ago and that have not arrived; they may still do."""

    examples: Sequence[str] = ()
    """Faults of some of the events, in words."""


class Rating(Struct, frozen=True, kw_only=True):
    """The result of a load test of a release: the events that a side made of that load, each second.

    Not the highest rate that it can hold, which `hifi bench` searches.
    """

    version: str
    events_per_second: float
    p95_ms: float
    at_ms: int
    """When it ended, epoch milliseconds."""


class SideMinute(Struct, frozen=True, kw_only=True):
    """One minute of a side, all customers together."""

    minute: int
    """Epoch minute."""

    settled: bool = True
    """Whether it is judged already: the figures of one that is not say little."""

    total: int = 0
    """Deliveries that hifi answers for."""

    good: int = 0
    held_up: int = 0
    """Deliveries that are not good because their destination failed, whatever version sends to it."""

    lost: int = 0
    under_way: int = 0
    """Events of which it is not known yet whether they are lost."""

    doubled: int = 0
    """Second copies that were sent, without those of a replay."""

    changed: int = 0
    """Canary events that arrived with other bytes."""

    p95_ms: float | None = None
    """95th percentile of the time inside hifi; None without deliveries."""

    dead: dict[str, int] = {}
    """Events that became dead letters or went to quarantine, by reason."""

    cpu_seconds: float | None = None
    """CPU time of the chain's processes in the minute; None if it is not known."""

    memory_bytes: int | None = None
    """Memory of these processes at the end of the minute; None if it is not known."""


class Remains(Struct, frozen=True, kw_only=True):
    """Records and events that a side took and has not settled."""

    lag: dict[str, int]
    """Unread records of each consumer group of the chain; for a missing group they are unknown."""

    retries: int = 0
    """Events that wait for their next try."""


class Backend(Protocol):
    """Two sides and the edge before them. Every method but `stability` may raise BackendError."""

    def sides(self) -> tuple[str, str]:
        """Their names."""
        ...

    def deployed(self, side: str) -> Deployed:
        """A side's version, and whether it is parked."""
        ...

    def obstacles(self, side: str, version: str) -> Sequence[Obstacle] | None:
        """Why a version cannot be released to a side now; None while that is being found out.

        Among them: it does not exist; its code cannot read the side's checkpoints, or records that the other
        version wrote; brokers or machines of the side are being patched; the side is closed.
        """
        ...

    def closed(self, side: str) -> str:
        """Why a side takes no traffic until an operator opens it, in words; empty if it is open.

        All that a rollback asks before it begins: it does not wait for a look at a version.
        """
        ...

    def passing(self, side: str) -> Sequence[Obstacle]:
        """Those of a side's obstacles that pass by themselves, whatever version is meant; none closes it.

        It is asked before each step forward, and again and again while that waits: reads no records.
        """
        ...

    def unstartable(self, side: str, version: str) -> str:
        """Why a version could not be started on a side, in words, and the fix; empty if its files are there.

        Unlike `obstacles` it is asked of versions that served before, and looks at nothing that passes.
        """
        ...

    def start(self, side: str, version: str, *, fence: int) -> None:
        """Replace the code of a side by a version, and start it; a parked side wakes up.

        If the version runs there already, nothing happens: programs that crashed are not started over. What
        failed to start is started again.
        """
        ...

    def readiness(self, side: str) -> Readiness:
        """Whether a side could take traffic."""
        ...

    def park(self, side: str, *, fence: int) -> None:
        """Stop all code of a side. What it took stays in its topics."""
        ...

    def positions(self, side: str) -> Positions:
        """Where every query and every group of a side stands; of a parked side too.

        A query that has never run stands at the first records that its topics hold, as does one with the
        checkpoint of a side that was destroyed and made anew.
        """
        ...

    def readable_positions(self, side: str) -> Positions:
        """Like `positions`, but skips queries with a checkpoint that cannot be decoded."""
        ...

    def restore(self, side: str, positions: Positions, *, replayed: Positions | None, fence: int) -> None:
        """Let the code that is started next on a parked side begin at these positions.

        Its checkpoints are made anew from them, so that they depend on no other version's format. Afterwards
        `positions` answers what was given; of a replay also the beginning of partitions added since.

        Args:
            side: parked.
            positions: where to begin.
            replayed: what is read before these, or may have been read when the side was stopped, is marked as
                replayed (`hifi_replay`); None marks only what is left of an earlier replay.
            fence: see above.

        Raises:
            CannotReplayError: if `replayed` is given, and the records are gone or cannot be marked.
        """
        ...

    def prove(self, side: str, events: int, *, fence: int) -> Proof:
        """Send events through this side only, whatever the weights, and compare what arrives.

        Goes on with the proof that was begun of the version that runs; at least so many events are sent.
        """
        ...

    def rating(self, side: str) -> Rating | None:
        """The newest load test of a side; None if there was none."""
        ...

    def begin_load_test(self, side: str, *, fence: int) -> None:
        """Begin a load test, unless one is running; its rating says when it is over."""
        ...

    def weights(self) -> Weights:
        """How the traffic is shared now."""
        ...

    def set_weights(self, weights: Weights, *, pinned: Pinned = NONE_PINNED, fence: int) -> None:
        """Share the traffic otherwise; in force, for new connections at least, when this returns.

        A side that takes no events gets no more traffic than it has: BackendError.

        Args:
            weights: of the events of all tenants that are not pinned.
            pinned: all that are, from now on. If their side cannot take them, the other one does.
            fence: see above.
        """
        ...

    def pinned(self) -> Pinned:
        """The side that takes a tenant's events now whatever the weights are, by tenant."""
        ...

    def unroutable(self, tenants: Sequence[str]) -> str:
        """Why the events of these tenants cannot be sent to one side, in words; empty if they can."""
        ...

    def minutes(self, side: str, first: int, last: int) -> Sequence[SideMinute]:
        """Minutes with deliveries, settled or not, `first` and `last` included, oldest first."""
        ...

    def pause_canary(self, side: str, *, fence: int) -> None:
        """Let what a side sends to itself end for a minute, so that it can read all that it has.

        It begins again by itself: ask at each look at a side that is to become empty.
        """
        ...

    def remains(self, side: str) -> Remains:
        """Records and events that a side has still to settle."""
        ...

    def dead_letters(self, side: str) -> Mapping[str, int] | None:
        """Dead letters that were not replayed, by reason: reported, but no obstacle to parking a side.

        None while they are being counted: a side may have millions of them.
        """
        ...

    def stability(self, side: str, since: int = 0) -> Stability:
        """Observe's judgement of a side; SILENT if it does not answer. Raises nothing.

        What happened before the epoch minute `since` does not count; 0 for all.
        """
        ...
