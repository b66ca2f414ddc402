"""Polls observe once for all pages with the same view; stops while no page is open."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pipelines.management.console import formatting
from pipelines.management.console.observe_client import ObserveClient, RefusedError, UnreachableError
from shared.contracts.alarms import Alarm, QuietWindow
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import DayCard, DayMark, MinuteFigures, MinuteMark, Now
from shared.contracts.skew import FieldSkew
from shared.contracts.timeline import Timeline
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

DAYS: Final = 90
_CHANGING_MINUTES: Final = 15
"""Older minutes seldom change, so they are polled at the slow rate."""

_SLOW_MS: Final = 60_000

_log = get_logger(__name__)


@dataclass(frozen=True)
class View:
    """The scope of a page: a tenant, and the hours of the charts."""

    tenant: str
    hours: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """Everything that a page shows, as observe returned it at one time."""

    view: View
    at_ms: int
    now: Now
    cards: tuple[MinuteFigures, ...]
    """Minutes of the view's hours, oldest first; minutes without events have none."""

    day: DayCard
    marks: tuple[MinuteMark, ...]
    days: tuple[DayMark, ...]
    destinations: tuple[DestinationHealth, ...]
    skews: tuple[FieldSkew, ...]
    alarms: tuple[Alarm, ...]
    quiet: tuple[QuietWindow, ...]
    tenants: tuple[str, ...]
    timeline: Timeline
    """The side's timeline in the view's hours, for every tenant; empty if observe does not answer it."""

    slow_ms: int
    """When the slow part was polled, epoch milliseconds."""

    @property
    def last_minute(self) -> int:
        """The epoch minute of the snapshot."""
        return self.at_ms // MINUTE_MS

    @property
    def first_minute(self) -> int:
        """The first epoch minute of the view's hours."""
        return self.last_minute - self.view.hours * 60 + 1


@dataclass(frozen=True)
class PollState:
    """The last snapshot, and the error since, if any."""

    snapshot: Snapshot | None = None
    failure: str = ""
    asked_ms: int = 0

    @property
    def age_seconds(self) -> float:
        """Age of the snapshot."""
        return (self.asked_ms - self.snapshot.at_ms) / 1000 if self.snapshot else 0.0


async def fetch_snapshot(client: ObserveClient, view: View, before: Snapshot | None, now_ms: int) -> Snapshot:
    """Poll observe for a view; what seldom changes is copied from the snapshot before.

    Raises:
        UnreachableError: if observe does not answer a request, but for that of the timeline.
        RefusedError: if observe does not know the tenant.
    """
    last = now_ms // MINUTE_MS
    slow = before is None or now_ms - before.slow_ms >= _SLOW_MS
    first = last - view.hours * 60 + 1
    today = formatting.day_of(last)
    tenant = view.tenant
    async with asyncio.TaskGroup() as asking:
        cards = asking.create_task(
            client.minutes(tenant, first if slow else max(first, last - _CHANGING_MINUTES), last)
        )
        now = asking.create_task(client.now(tenant))
        day = asking.create_task(client.day(tenant, today))
        marks = asking.create_task(client.marks(tenant, today))
        destinations = asking.create_task(client.destinations(tenant))
        skews = asking.create_task(client.skews(tenant))
        alarms = asking.create_task(client.alarms(tenant))
        quiet = asking.create_task(client.quiet(tenant))
        timeline = asking.create_task(_timeline(client, first, last))
        days = asking.create_task(client.days(tenant, DAYS)) if slow else None
        tenants = asking.create_task(client.tenants()) if slow else None
    kept = {} if before is None else {card.minute: card for card in before.cards}
    kept |= {card.minute: card for card in cards.result()}
    return Snapshot(
        view=view,
        at_ms=now_ms,
        now=now.result(),
        cards=tuple(kept[minute] for minute in sorted(kept) if minute >= first),
        day=day.result(),
        marks=tuple(marks.result()),
        days=tuple(days.result()) if days else before.days if before else (),
        destinations=tuple(destinations.result()),
        skews=tuple(skews.result()),
        alarms=tuple(alarms.result()),
        quiet=tuple(quiet.result()),
        tenants=tuple(tenants.result()) if tenants else before.tenants if before else (),
        timeline=timeline.result(),
        slow_ms=now_ms if slow or before is None else before.slow_ms,
    )


async def _timeline(client: ObserveClient, first: int, last: int) -> Timeline:
    """The timeline, or one of which nothing is known: an older observe has none."""
    try:
        return await client.timeline(first, last)
    except (UnreachableError, RefusedError):
        return Timeline()


Watcher = Callable[[PollState], None]


class Poller:
    """Polls one view for all pages that show it."""

    def __init__(self, client: ObserveClient, view: View, seconds: float, clock: Clock) -> None:
        self._client, self._view, self._seconds, self._clock = client, view, seconds, clock
        self._watchers: list[Watcher] = []
        self._looking: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self.state = PollState()

    @property
    def watchers(self) -> int:
        """Number of pages."""
        return len(self._watchers)

    def watch(self, watcher: Watcher) -> None:
        """Call `watcher` with every state; the first watcher starts the polling."""
        self._watchers.append(watcher)
        if self._looking is None:
            self._looking = asyncio.create_task(self._poll_loop())

    def leave(self, watcher: Watcher) -> None:
        """Remove a watcher; the last one to leave stops the polling."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def hurry(self) -> None:
        """Poll now, because the user changed something."""
        self._wanted.set()

    async def _poll_loop(self) -> None:
        while True:
            self._wanted.clear()
            self.state = await self._polled()
            for watcher in tuple(self._watchers):
                _notify(watcher, self.state)
            try:
                await asyncio.wait_for(self._wanted.wait(), self._seconds)
            except TimeoutError:
                continue

    async def _polled(self) -> PollState:
        failure = ""
        try:
            snapshot = await fetch_snapshot(self._client, self._view, self.state.snapshot, self._clock())
        except* (UnreachableError, RefusedError) as errors:
            failure = str(errors.exceptions[0])
        if not failure:
            return PollState(snapshot, "", snapshot.at_ms)
        if not self.state.failure:
            _log.warning("observe does not answer", extra={"error": failure})
        return replace(self.state, failure=failure, asked_ms=self._clock())


def _notify(watcher: Watcher, state: PollState) -> None:
    try:
        watcher(state)
    except Exception:  # an error in one page must not stop the others
        _log.exception("page not updated: unexpected error")


class Pollers:
    """The pollers of this process by view; those without pages are dropped."""

    def __init__(self, client: ObserveClient, seconds: float, clock: Clock) -> None:
        self.client = client
        self._seconds, self._clock = seconds, clock
        self._feeds: dict[View, Poller] = {}

    @property
    def watchers(self) -> int:
        """Number of open pages."""
        return sum(poller.watchers for poller in self._feeds.values())

    def watch(self, view: View, watcher: Watcher) -> Poller:
        """Watch a view; returns its poller."""
        poller = self._feeds.setdefault(view, Poller(self.client, view, self._seconds, self._clock))
        poller.watch(watcher)
        return poller

    def leave(self, view: View, watcher: Watcher) -> None:
        """Stop watching a view."""
        poller = self._feeds.get(view)
        if poller is None:
            return
        poller.leave(watcher)
        if not poller.watchers:
            del self._feeds[view]
