"""One loop of looks at observe for all pages that show the same; it stands still while nobody watches."""

import asyncio
from collections.abc import Callable
from dataclasses import dataclass, replace
from typing import Final

from pipelines.management.console import formatting
from pipelines.management.console.client import ObserveClient, RefusedError, UnreachableError
from shared.contracts.alarms import Alarm, QuietWindow
from shared.contracts.scorecard import DayCard, DayMark, DestinationHealth, MinuteCard, MinuteMark, Now
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

DAYS: Final = 90
_CHANGING_MINUTES: Final = 15
"""Older ones seldom change: they are read with what is slow."""

_SLOW_MS: Final = 60_000
_MINUTE_MS: Final = 60_000

_log = get_logger(__name__)


@dataclass(frozen=True)
class View:
    """What a page shows: a tenant, and how much of the past."""

    tenant: str
    hours: int


@dataclass(frozen=True, kw_only=True)
class Snapshot:
    """What observe said at one moment."""

    view: View
    at_ms: int
    now: Now
    cards: tuple[MinuteCard, ...]
    """Of the view's hours, oldest first; minutes without events have none."""

    day: DayCard
    marks: tuple[MinuteMark, ...]
    days: tuple[DayMark, ...]
    destinations: tuple[DestinationHealth, ...]
    alarms: tuple[Alarm, ...]
    quiet: tuple[QuietWindow, ...]
    tenants: tuple[str, ...]

    slow_ms: int
    """When what seldom changes was read."""

    @property
    def last_minute(self) -> int:
        """The epoch minute it was taken in."""
        return self.at_ms // _MINUTE_MS

    @property
    def first_minute(self) -> int:
        """Of the view's hours."""
        return self.last_minute - self.view.hours * 60 + 1


@dataclass(frozen=True)
class PollState:
    """The last look, and what went wrong since."""

    look: Snapshot | None = None
    failure: str = ""
    asked_ms: int = 0

    @property
    def age_seconds(self) -> float:
        """How old the figures are."""
        return (self.asked_ms - self.look.at_ms) / 1000 if self.look else 0.0


async def fetch_snapshot(client: ObserveClient, view: View, before: Snapshot | None, now_ms: int) -> Snapshot:
    """Ask observe for all of a view; what seldom changes is taken over from the look before.

    Raises:
        UnreachableError: if an answer is missing.
        RefusedError: if observe does not know the tenant.
    """
    last = now_ms // _MINUTE_MS
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
        alarms = asking.create_task(client.alarms(tenant))
        quiet = asking.create_task(client.quiet(tenant))
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
        alarms=tuple(alarms.result()),
        quiet=tuple(quiet.result()),
        tenants=tuple(tenants.result()) if tenants else before.tenants if before else (),
        slow_ms=now_ms if slow or before is None else before.slow_ms,
    )


Watcher = Callable[[PollState], None]


class Poller:
    """The looks at one view, for all who watch it."""

    def __init__(self, client: ObserveClient, view: View, seconds: float, clock: Clock) -> None:
        self._client, self._view, self._seconds, self._clock = client, view, seconds, clock
        self._watchers: list[Watcher] = []
        self._looking: asyncio.Task[None] | None = None
        self._wanted = asyncio.Event()
        self.state = PollState()

    @property
    def watchers(self) -> int:
        """How many watch."""
        return len(self._watchers)

    def watch(self, watcher: Watcher) -> None:
        """Tell of every look from now on; the first watcher starts them."""
        self._watchers.append(watcher)
        if self._looking is None:
            self._looking = asyncio.create_task(self._look_on())

    def leave(self, watcher: Watcher) -> None:
        """Tell no more; the last to leave stops the looks."""
        if watcher in self._watchers:
            self._watchers.remove(watcher)
        if not self._watchers and self._looking is not None:
            self._looking.cancel()
            self._looking = None

    def hurry(self) -> None:
        """Look now: something was changed."""
        self._wanted.set()

    async def _look_on(self) -> None:
        while True:
            self._wanted.clear()
            self.state = await self._looked()
            for watcher in tuple(self._watchers):
                _tell(watcher, self.state)
            try:
                await asyncio.wait_for(self._wanted.wait(), self._seconds)
            except TimeoutError:
                continue

    async def _looked(self) -> PollState:
        failure = ""
        try:
            look = await fetch_snapshot(self._client, self._view, self.state.look, self._clock())
        except* (UnreachableError, RefusedError) as errors:
            failure = str(errors.exceptions[0])
        if not failure:
            return PollState(look, "", look.at_ms)
        if not self.state.failure:
            _log.warning("observe does not answer", extra={"error": failure})
        return replace(self.state, failure=failure, asked_ms=self._clock())


def _tell(watcher: Watcher, state: PollState) -> None:
    try:
        watcher(state)
    except Exception:  # one page's fault must not end the looks of the others
        _log.exception("a page could not be brought up to date")


class Pollers:
    """The feeds of this process, by what they show; those that nobody watches are dropped."""

    def __init__(self, client: ObserveClient, seconds: float, clock: Clock) -> None:
        self.client = client
        self._seconds, self._clock = seconds, clock
        self._feeds: dict[View, Poller] = {}

    @property
    def watchers(self) -> int:
        """How many pages are open."""
        return sum(feed.watchers for feed in self._feeds.values())

    def watch(self, view: View, watcher: Watcher) -> Poller:
        """The view's feed, watched."""
        feed = self._feeds.setdefault(view, Poller(self.client, view, self._seconds, self._clock))
        feed.watch(watcher)
        return feed

    def leave(self, view: View, watcher: Watcher) -> None:
        """Watch no more."""
        feed = self._feeds.get(view)
        if feed is None:
            return
        feed.leave(watcher)
        if not feed.watchers:
            del self._feeds[view]
