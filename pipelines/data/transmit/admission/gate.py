"""The gate of each destination: slots, rate limit, tenant's share, circuit breaker, lane. For one event loop.

Its state belongs to this process and outlives micro-batches. If several processes send to a destination, each
finds out by itself that it is slow or failing. That it has recovered they all learn from the slow lane's
receipts; without these, each tries a request by itself now and then.
"""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable, Sequence
from contextlib import asynccontextmanager
from dataclasses import dataclass, field
from typing import Final

from pipelines.data.transmit.admission import circuit_breaker as breakers
from pipelines.data.transmit.admission import lanes
from pipelines.data.transmit.admission.answer_time import usual_after
from pipelines.data.transmit.admission.lane_probes import LaneProbes
from pipelines.data.transmit.admission.rate_limit import RateLimit
from pipelines.data.transmit.admission.slot_backlog import SlotBacklog
from pipelines.data.transmit.connectors.base import Answer
from shared.contracts.documents import Destination, TenantName
from shared.contracts.receipts import Lane
from shared.runtime.clock import Clock
from shared.runtime.fair_share import FairShare

_MOST_GATES: Final = 10_000


@dataclass(frozen=True, slots=True)
class NoTurn:
    """The request could not be sent in this micro-batch."""

    seconds: float = 0.0
    """Seconds after which its events should come back; 0 leaves it to the retry topics."""


@dataclass(frozen=True, slots=True)
class Moved:
    """The destination has moved to the slow lane."""


@dataclass(frozen=True, slots=True)
class BreakerOpen:
    """The destination's circuit breaker is open."""

    seconds: float
    """Time until a request is let through."""

    young: bool
    """See `circuit_breaker.is_young`."""

    def __str__(self) -> str:
        return f"not tried again for {self.seconds:.0f} s, after it failed several times in a row"


Refusal = NoTurn | Moved | BreakerOpen
"""Why a request may not be sent now."""


@dataclass(frozen=True, slots=True, kw_only=True)
class AdmissionPolicy:
    """Rules of a process for all destinations."""

    lane: Lane
    """The lane of this process."""

    share: float = 1.0
    """This process's share of a destination's limits; the lane's other processes have the rest."""

    requests: int = 512
    """Requests of this process in flight at once, over all destinations."""

    breaking: breakers.BreakerThresholds = field(default_factory=breakers.BreakerThresholds)
    slowness: lanes.LaneThresholds = field(default_factory=lanes.LaneThresholds)


@dataclass(frozen=True, slots=True)
class SharedLimits:
    """Limits of a process over all destinations."""

    shares: FairShare
    """Requests in flight, by tenant."""

    lane_probes: LaneProbes


class Gate:
    """The slots, rate limit, circuit breaker and lane of one destination."""

    def __init__(
        self,
        destination: Destination,
        rules: AdmissionPolicy,
        shared: SharedLimits,
        clock: Clock,
        seconds: Callable[[], float],
    ) -> None:
        limits = destination.limits
        self.destination = destination
        self._rules = rules
        self._shares = shared.shares
        self._lane_probes = shared.lane_probes
        self._clock = clock
        self._seconds = seconds
        slots = max(1, int(limits.requests * rules.share))
        self._slots = asyncio.Semaphore(slots)
        self._backlog = SlotBacklog(slots)
        self._rate = None if limits.rate is None else RateLimit.of(limits.rate * rules.share)
        self._breaker = breakers.CLOSED
        self._probe: asyncio.Event | None = None
        self.pace = lanes.LaneState(lane=rules.lane)
        self.usual = 0.0
        """How long answered requests usually take, seconds; 0 until the first answer."""

    @property
    def breaker(self) -> breakers.Breaker:
        """The state of the circuit breaker now."""
        self._breaker = breakers.looked_at(self._breaker, self._seconds())
        return self._breaker

    @property
    def moved(self) -> bool:
        """Whether this is the fast lane and the destination has moved to the slow one.

        Not so for the next request if it may find out whether the destination is fast again.
        """
        return self._rules.lane == "fast" and self.pace.lane == "slow" and not self._may_probe_lane()

    @property
    def recovered(self) -> bool:
        """Whether this is the slow lane and the destination may return to the fast one."""
        return self._rules.lane == "slow" and self.pace.lane == "fast"

    @asynccontextmanager
    async def turn(self, events: int, until: float, rate_until: float) -> AsyncIterator[Refusal | None]:
        """Wait for a request's turn, which lasts until the block ends; gives a refusal if there is none.

        Args:
            events: number of events in the request.
            until: latest start, on the loop's clock.
            rate_until: latest start if only the rate limit delays it, on the loop's clock.
        """
        if not await _in_time(self._slots.acquire(), until):
            yield NoTurn()
            return
        try:
            refusal = self._refusal() or await self._await_rate(events, rate_until)
            if refusal is not None:
                yield refusal
                return
            async with self._shared_turn(until) as shared_refusal:
                yield shared_refusal
        finally:
            self._slots.release()

    @asynccontextmanager
    async def _shared_turn(self, until: float) -> AsyncIterator[Refusal | None]:
        """The rest of `turn`, within the share that the tenant's destinations have together."""
        if not await _in_time(self._shares.take(self.destination.tenant), until):
            yield NoTurn()
            return
        try:
            refusal = await self._await_probe(until)
            if refusal is not None:
                yield refusal
                return
            probe, lane_probe = self._begin_probe(), self._begin_lane_probe()
            try:
                yield None
            finally:
                if lane_probe:
                    self._lane_probes.end()
                    self.pace = lanes.probe_ended(self.pace)
                if probe is not None:
                    self._probe = None
                    probe.set()
        finally:
            self._shares.give_back(self.destination.tenant)

    def _refusal(self) -> Moved | BreakerOpen | None:
        if self.moved:
            return Moved()
        if self.breaker.state == "open":
            wait = max(0.0, self._breaker.until - self._seconds())
            return BreakerOpen(wait, breakers.is_young(self._breaker, self._rules.breaking))
        return None

    async def _await_rate(self, events: int, until: float) -> NoTurn | None:
        """Wait for the rate limit, unless the wait is known to be too long."""
        if self._rate is None:
            return None
        now = self._seconds()
        wait = self._rate.wait(now)
        if wait > max(0.0, until - now):
            return NoTurn()
        self._rate = self._rate.after(events, now)
        try:
            await asyncio.sleep(wait)
        except asyncio.CancelledError:
            self._rate = self._rate.taken_back(events, self._seconds())
            raise
        return None

    async def _await_probe(self, until: float) -> Refusal | None:
        """If another request is testing a half-open breaker, wait for its result.

        If the destination has recovered, the waiting requests are sent without a detour over retry.
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
        """If this request tests a half-open breaker, the event to set when it ends; otherwise None."""
        if self.breaker.state == "half_open":
            self._probe = asyncio.Event()
            return self._probe
        return None

    def _may_probe_lane(self) -> bool:
        """Whether the next request may find out that a destination which left the fast lane is fast again."""
        may_begin = self._lane_probes.may_begin(self._seconds()) and self.breaker.state != "open"
        return may_begin and lanes.probe_due(self._pace_now(), self._clock(), self._rules.slowness)

    def _pace_now(self) -> lanes.LaneState:
        self.pace = lanes.looked_at(self.pace, self._clock())
        return self.pace

    def _begin_lane_probe(self) -> bool:
        """Whether this request does so; all others move to the slow lane until it ends."""
        if self._rules.lane != "fast" or self.pace.lane != "slow":
            return False
        self.pace = lanes.probe_begun(self.pace)
        self._lane_probes.begin(self._seconds())
        return True

    def ended(self, answers: Sequence[Answer], request: float, turn: float) -> None:
        """Update breaker, lane and durations after a request.

        Args:
            answers: the answers to it.
            request: seconds that it took.
            turn: seconds that it waited for its turn; they count only in the slow lane.
        """
        now, now_ms = self._seconds(), self._clock()
        failed = breakers.has_failed(answers)
        if failed:
            asked = breakers.asked_for(answers, now_ms)
            self._breaker = breakers.after_failure(self.breaker, request, asked, now, self._rules.breaking)
        elif failed is False:
            self._breaker = breakers.CLOSED
        answered = any(answer.status is not None for answer in answers)
        if answered:
            self.usual = usual_after(self.usual, request)
            self._backlog = self._backlog.answered(request)
        if not answered and request > self._rules.slowness.slow:
            self.overdue()
        else:
            spent = request if self._rules.lane == "fast" else request + turn
            self.pace = lanes.after_request(self.pace, spent, now_ms, self._rules.slowness)

    def without_turn(self, events: int) -> Refusal:
        """The refusal of a request that got no turn; it says when there is room for its events."""
        if (refusal := self._refusal()) is not None:
            return refusal
        now = self._seconds()
        self._backlog, wait = self._backlog.booked(now)
        if self._rate is not None:
            self._rate, until_passing = self._rate.booked(events, now)
            wait = max(wait, until_passing)
        return NoTurn(wait)

    def overdue(self) -> None:
        """Note that a request, or the wait for its turn, took longer than the lane allows."""
        self.pace = lanes.slowed(self.pace, self._clock(), self._rules.slowness)

    def note_recovered(self, seen_ms: int) -> None:
        """Note that the slow lane found the destination fast again, at `seen_ms`."""
        if self._rules.lane == "fast":
            self.pace = lanes.recovered(self._pace_now(), seen_ms)


async def _in_time(turn: Awaitable[object], until: float) -> bool:
    """Whether `turn` came before `until`, on the loop's clock."""
    try:
        async with asyncio.timeout_at(until):
            await turn
    except TimeoutError:
        return False
    return True


class Admission:
    """The gates of all destinations in a process."""

    def __init__(self, rules: AdmissionPolicy, clock: Clock, seconds: Callable[[], float]) -> None:
        self.rules = rules
        self._clock = clock
        self._seconds = seconds
        self._shared = SharedLimits(FairShare(rules.requests), LaneProbes(rules.slowness.between_probes))
        self._gates: dict[TenantName, Gate] = {}
        """The one used last is the last: destinations come and go, and one in use must keep its gate."""

    def of(self, destination: Destination) -> Gate:
        """The gate of a destination; a new one if its document has changed."""
        key = destination.tenant, destination.name
        found = self._gates.pop(key, None)
        if found is None or not (found.destination is destination or found.destination == destination):
            found = Gate(destination, self.rules, self._shared, self._clock, self._seconds)
        self._gates[key] = found
        if len(self._gates) > _MOST_GATES:
            self._gates.pop(next(iter(self._gates)))
        return found

    def note_recovered(self, recovered: Sequence[tuple[TenantName, int]]) -> None:
        """Note which destinations the slow lane found fast again, and when."""
        for key, seen_ms in recovered:
            if key in self._gates:
                self._gates[key].note_recovered(seen_ms)
