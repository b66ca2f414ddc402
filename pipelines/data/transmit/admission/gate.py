"""What a worker process knows of each destination, and what a request has to pass. For one event loop.

The knowledge is this process's own, and outlives micro-batches. Where several processes send to a
destination, each finds out by itself that it is slow or broken; that it is quick again, the slow lane's
receipts tell all of them.
"""

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from pipelines.data.transmit.admission import circuit_breaker as breakers
from pipelines.data.transmit.admission import lanes
from pipelines.data.transmit.connectors.base import Answer
from shared.contracts.documents import Destination
from shared.contracts.receipts import Lane
from shared.runtime.clock import Clock
from shared.runtime.token_bucket import TokenBucket

_MOST_GATES: Final = 10_000
_BURST_SECONDS: Final = 1.0


@dataclass(frozen=True, slots=True)
class NoTurn:
    """The time was over before the request could be made."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The destination belongs in the slow lane now."""


@dataclass(frozen=True, slots=True)
class BreakerOpen:
    """The destination's breaker is open."""

    seconds: float
    """Until it lets a request through."""

    young: bool
    """See `circuit_breaker.is_young`."""

    def __str__(self) -> str:
        return f"not tried again for {self.seconds:.0f} s, after it failed several times in a row"


Refusal = NoTurn | Moved | BreakerOpen
"""Why a request may not be made now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """How a process treats all destinations alike."""

    lane: Lane
    """That the process works in."""

    share: float = 1.0
    """Of a destination's limits: the others belong to other processes of the lane."""

    breaking: breakers.BreakerThresholds = field(default_factory=breakers.BreakerThresholds)
    slowness: lanes.LaneThresholds = field(default_factory=lanes.LaneThresholds)


class Gate:
    """One destination's: its slots, its tokens, its breaker, its pace."""

    def __init__(
        self, destination: Destination, rules: AdmissionPolicy, clock: Clock, seconds: Callable[[], float]
    ) -> None:
        limits = destination.limits
        self.destination = destination
        self._rules = rules
        self._clock = clock
        self._seconds = seconds
        self._slots = asyncio.Semaphore(max(1, int(limits.requests * rules.share)))
        self._bucket = None if limits.rate is None else TokenBucket(limits.rate * rules.share, _BURST_SECONDS)
        self._breaker = breakers.CLOSED
        self._probe: asyncio.Event | None = None
        self.pace = lanes.LaneState(lane=rules.lane)

    @property
    def breaker(self) -> breakers.Breaker:
        """The destination's breaker as it is now."""
        self._breaker = breakers.looked_at(self._breaker, self._seconds())
        return self._breaker

    @property
    def moved(self) -> bool:
        """Whether the destination's events belong in another lane than this process's."""
        return self._rules.lane == "fast" and self.pace.lane == "slow"

    @property
    def recovered(self) -> bool:
        """Whether the destination's events belong in the fast lane again, of which this process is not."""
        return self._rules.lane == "slow" and self.pace.lane == "fast"

    @asynccontextmanager
    async def turn(self, events: int, until: float, rate_until: float) -> AsyncIterator[Refusal | None]:
        """A request's turn, which lasts until the block ends; or why there is none.

        Args:
            events: in the request.
            until: the loop's time at which it is too late to begin.
            rate_until: the same, where only the destination's rate is in the way.
        """
        if not await self._slot(until):
            yield NoTurn()
            return
        try:
            refusal = (
                self._refusal()
                or await self._await_rate(events, rate_until)
                or await self._await_probe(until)
            )
            if refusal is not None:
                yield refusal
                return
            probe = self._begin_probe()
            try:
                yield None
            finally:
                if probe is not None:
                    self._probe = None
                    probe.set()
        finally:
            self._slots.release()

    async def _slot(self, until: float) -> bool:
        try:
            async with asyncio.timeout_at(until):
                return await self._slots.acquire()
        except TimeoutError:
            return False

    def _refusal(self) -> Moved | BreakerOpen | None:
        if self.moved:
            return Moved()
        if self.breaker.state == "open":
            wait = max(0.0, self._breaker.until - self._seconds())
            return BreakerOpen(wait, breakers.is_young(self._breaker, self._rules.breaking))
        return None

    async def _await_rate(self, events: int, until: float) -> NoTurn | None:
        """Wait for the destination's rate, unless the wait is known to be too long."""
        if self._bucket is None:
            return None
        now = self._seconds()
        wait = self._bucket.wait(now)
        if wait > max(0.0, until - now):
            return NoTurn()
        self._bucket = self._bucket.after(events, now)
        await asyncio.sleep(wait)
        return None

    async def _await_probe(self, until: float) -> Refusal | None:
        """Where another request tests a half-open breaker, wait for what comes of it.

        Where the destination is back, none of those that wait needs a detour.
        """
        refusal: Refusal | None = self._refusal()
        while refusal is None and self.breaker.state == "half_open" and self._probe is not None:
            try:
                async with asyncio.timeout_at(until):
                    await self._probe.wait()
            except TimeoutError:
                return NoTurn()
            refusal = self._refusal()
        return refusal

    def _begin_probe(self) -> asyncio.Event | None:
        """An event to set at the end if this request is the one that tests a half-open breaker."""
        if self.breaker.state == "half_open":
            self._probe = asyncio.Event()
            return self._probe
        return None

    def ended(self, answers: Sequence[Answer], request: float, turn: float) -> None:
        """Learn from a request.

        Args:
            answers: that came of it.
            request: seconds that it took.
            turn: seconds for which it waited for its turn; they count where nobody else waits with it.
        """
        now, now_ms = self._seconds(), self._clock()
        failed = breakers.has_failed(answers)
        if failed:
            asked = breakers.asked_for(answers, now_ms)
            self._breaker = breakers.after_failure(self.breaker, request, asked, now, self._rules.breaking)
        elif failed is False:
            self._breaker = breakers.CLOSED
        slow = self._rules.slowness.slow
        if request > slow and all(answer.status is None for answer in answers):
            self.overdue()
        else:
            spent = request if self._rules.lane == "fast" else request + turn
            self.pace = lanes.after_request(self.pace, spent, now_ms, self._rules.slowness)

    def overdue(self) -> None:
        """Learn that a request, or one's turn, took longer than the lane can wait."""
        self.pace = lanes.slowed(self.pace, self._clock(), self._rules.slowness)

    def note_recovered(self, seen_ms: int) -> None:
        """Learn that the slow lane found the destination quick again."""
        if self._rules.lane == "fast":
            self.pace = lanes.recovered(self.pace, seen_ms)


class Admission:
    """All gates of a process."""

    def __init__(self, rules: AdmissionPolicy, clock: Clock, seconds: Callable[[], float]) -> None:
        self.rules = rules
        self._clock = clock
        self._seconds = seconds
        self._gates: dict[str, Gate] = {}

    def of(self, destination: Destination) -> Gate:
        """The gate of a destination; a new one, which knows nothing, where its document has changed."""
        found = self._gates.get(destination.name)
        if found is not None and (found.destination is destination or found.destination == destination):
            return found
        if len(self._gates) >= _MOST_GATES:
            self._gates.pop(next(iter(self._gates)))
        self._gates[destination.name] = Gate(destination, self.rules, self._clock, self._seconds)
        return self._gates[destination.name]

    def note_recovered(self, recovered: Sequence[tuple[str, int]]) -> None:
        """Learn which destinations the slow lane found quick again, and when."""
        for name, seen_ms in recovered:
            if name in self._gates:
                self._gates[name].note_recovered(seen_ms)
