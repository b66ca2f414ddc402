"""The demo's load on a running side: probe until the documents are in force, send, wait, account."""

import asyncio
import time
from collections.abc import Callable, Sequence

from msgspec import Struct

from scripts.demo.account import EVERYTHING, PIPES, KindOf, Pending, PipeResult, pipe_result
from scripts.demo.configure import KEY
from scripts.demo.screen import DemoState, DemoTotals
from scripts.load.event_source import EventSource
from scripts.load.progress import is_set_within
from scripts.load.receiver import Receiver
from scripts.load.run_id import new_run_id
from scripts.load.schedule import Schedule
from scripts.load.sender import Sender
from scripts.load.telemetry import Telemetry
from scripts.load.verify import is_behind, visible_ids
from shared.runtime.clock import wall_clock
from shared.runtime.errors import OperatorError

Show = Callable[[DemoState], None]
Say = Callable[[str], None]

_LIVE_SECONDS = 60.0
_PROBE = "probe-"
_PROBE_SECONDS = 0.5
_PROBE_EVENTS = 200
_DRAIN_SECONDS = 90.0
_LOOK_SECONDS = 0.2
_OVERDUE_MS = 30_000


class NotLiveError(OperatorError):
    """The side did not deliver the first events in time."""


class DemoLoad(Struct, frozen=True, kw_only=True):
    """The load, and where it is sent."""

    url: str
    bootstraps: Sequence[str]
    """Bootstrap addresses of each side that may hold an event."""

    source: EventSource
    kind_of: KindOf | None
    rate: float
    batch: int
    seconds: float


async def wait_until_live(url: str, receiver: Receiver) -> None:
    """Send probes until every pipe delivered some, then forget them.

    Key, pipes and destinations are pushed to three nodes, each of which takes them within seconds.

    Raises:
        NotLiveError: if that takes more than a minute.
    """
    deadline = time.monotonic() + _LIVE_SECONDS
    acked: set[str] = set()
    everything = receiver.counts(EVERYTHING.path)
    while not (all(receiver.counts(pipe.path).arrivals for pipe in PIPES)):
        if time.monotonic() > deadline:
            raise NotLiveError(_not_live(acked, everything.arrivals))
        await _probe(url, acked)
        await asyncio.sleep(_PROBE_SECONDS)
    receiver.uncounted = _PROBE  # probes still under way must not count as the load's
    receiver.counts_by_path.clear()


def _not_live(acked: set[str], arrived: int) -> str:
    if not acked:
        return (
            f"collect accepted none of the demo's events within {_LIVE_SECONDS:.0f} s: `hifi doctor` says why"
        )
    return (
        f"after {_LIVE_SECONDS:.0f} s some pipe has delivered nothing ({len(acked)} sent, {arrived} arrived)"
    )


async def _probe(url: str, acked: set[str]) -> None:
    source = Telemetry(_PROBE + new_run_id())
    once = Schedule(rate=_PROBE_EVENTS * 10, batch=_PROBE_EVENTS, seconds=0.1)
    sender = Sender(
        url, KEY, source, once, connections=1, patience=5, on_acked=lambda ids, _, __: acked.update(ids)
    )
    await sender.run()


class Demo:
    """Runs one load and shows its progress."""

    def __init__(self, plan: DemoLoad, receiver: Receiver, show: Show, interval: float) -> None:
        self._plan = plan
        self._receiver = receiver
        self._show = show
        self._interval = interval
        self._everything = receiver.counts(EVERYTHING.path)
        self._pending = Pending(self._everything.seen)
        self._sender = Sender(
            plan.url,
            KEY,
            plan.source,
            Schedule(rate=plan.rate, batch=plan.batch, seconds=plan.seconds),
            on_acked=self._pending.add,
        )
        self._begin = time.monotonic()
        self._sent_seconds = plan.seconds
        self._last = (0, self._begin)

    async def run(self, stopping: asyncio.Event) -> None:
        """Send until the time is over or `stopping` is set, then wait for the events under way.

        If it is set only while that waits, the wait ends: what has not arrived is searched for as it is.
        """
        sending = asyncio.create_task(self._sender.run())
        while not sending.done():
            if stopping.is_set():
                self._sender.stop()
            await self._tick(sending)
        self._sent_seconds = time.monotonic() - self._begin
        await sending
        await self._drain(asyncio.Event() if stopping.is_set() else stopping)

    async def _tick(self, sending: "asyncio.Task[object]") -> None:
        await asyncio.wait([sending], timeout=self._interval)
        self._show(self._moment())

    async def _drain(self, stopping: asyncio.Event) -> None:
        deadline = time.monotonic() + _DRAIN_SECONDS
        while not self._complete() and time.monotonic() < deadline:
            if await is_set_within(stopping, _LOOK_SECONDS):
                break
        self._show(self._moment())

    def _complete(self) -> bool:
        return self._pending.settle() == 0 and not any(result.missing for result in self.results())

    def results(self) -> list[PipeResult]:
        """The result of each pipe so far."""
        return [
            pipe_result(pipe, self._pending.acked, self._plan.kind_of, self._receiver.counts(pipe.path))
            for pipe in PIPES
        ]

    def totals(self, results: list[PipeResult]) -> DemoTotals:
        """The totals; events that did not arrive are searched for in the retry and dead-letter topics.

        Those that are not there are lost, unless they still come, or the chain has yet to read them.

        Raises:
            KafkaUnavailableError: if the brokers do not answer.
        """
        missing = {(result.pipe.name, event_id) for result in results for event_id in result.missing}
        behind = bool(missing) and any(is_behind(each) for each in self._plan.bootstraps)
        visible = set().union(*map(visible_ids, self._plan.bootstraps)) if missing else set()
        hidden = missing - visible
        on_the_way = hidden if behind else set(filter(self._arrived, hidden))
        counts = self._sender.counts
        return DemoTotals(
            sent=counts.sent,
            acked=counts.acked,
            refused=counts.refused,
            unacknowledged=counts.unacknowledged,
            waiting=len(missing & visible),
            on_the_way=len(on_the_way),
            lost=len(hidden - on_the_way),
            seconds=self._sent_seconds,
        )

    def _arrived(self, delivery: tuple[str, str]) -> bool:
        """Whether an event of a pipe has arrived by now."""
        name, event_id = delivery
        return any(event_id in self._receiver.counts(pipe.path).seen for pipe in PIPES if pipe.name == name)

    def _moment(self) -> DemoState:
        arrived, counts, now = self._everything, self._sender.counts, time.monotonic()
        before, then = self._last
        self._last = (arrived.arrivals, now)
        return DemoState(
            second=now - self._begin,
            seconds=self._plan.seconds,
            rate=(arrived.arrivals - before) / max(now - then, 1e-6),
            lag=arrived.recent.take(),
            sent=counts.sent,
            acked=counts.acked,
            delivered=arrived.distinct,
            on_the_way=self._pending.settle(),
            lost=self._pending.overdue(wall_clock() - _OVERDUE_MS),
            duplicated=arrived.duplicated,
        )
