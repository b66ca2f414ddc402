"""The API's answers, from the snapshot; what it does not hold comes from the store and the topics."""

from collections.abc import Callable, Iterable, Iterator
from datetime import date, timedelta
from typing import Final

from confluent_kafka import KafkaException

from pipelines.control.observe.alarms.burn_rate import oldest_minute
from pipelines.control.observe.alarms.service import Alarms
from pipelines.control.observe.api.query_params import BusyError, UnavailableError
from pipelines.control.observe.health.snapshot import Snapshot, now
from pipelines.control.observe.ledger.event_search import find
from pipelines.control.observe.scorecards.day_cards import day_card, day_mark, minute_mark
from pipelines.control.observe.scorecards.day_state import Cards
from pipelines.control.observe.scorecards.minute_cards import empty_card
from pipelines.control.observe.scorecards.pipe_cards import pipe_card
from pipelines.control.observe.storage.repository import Repository
from shared.contracts.alarms import Alarm, AlarmKind, QuietWindow
from shared.contracts.destination_health import DestinationHealth
from shared.contracts.diamond.activities import UnderWay
from shared.contracts.diamond.stability import (
    GOOD_MINUTES,
    Stability,
    about_the_side,
    raised_by,
    stability,
)
from shared.contracts.documents import OWN_TENANTS
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import (
    ALL_TENANTS,
    DayCard,
    DayMark,
    EventSearch,
    MinuteCard,
    MinuteMark,
    Now,
    PipeCard,
)
from shared.contracts.skew import FieldSkew
from shared.contracts.timeline import Timeline
from shared.contracts.timestamps import DAY_MINUTES, day_of, first_minute
from shared.dynamodb.activity_reader import Register
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.runtime.clock import Clock
from shared.runtime.concurrency_limit import ConcurrencyLimit

_STALE_MS: Final = 60_000
_NOT_JUDGED: Final = "observe has judged nothing for a minute"
SEARCHES_AT_ONCE: Final = 2
"""Each reads up to 400,000 records for about ten seconds, beside the loop that measures."""

OpenReader = Callable[[], OffsetRangeReader]


class Queries:
    """Safe to call from any thread. Methods that need the store raise StoreError if it is unavailable."""

    def __init__(  # noqa: PLR0913  # what answers are made of
        self,
        snapshot: Callable[[], Snapshot],
        tables: Repository,
        alarms: Alarms,
        open_reader: OpenReader,
        clock: Clock,
        *,
        register: Callable[[], Register | None],
        timeline: Callable[[int, int], Timeline],
    ) -> None:
        self._snapshot = snapshot
        self._timeline = timeline
        self._register = register
        self._tables = tables
        self._alarms = alarms
        self._open_reader = open_reader
        self._clock = clock
        self._searches = ConcurrencyLimit(SEARCHES_AT_ONCE, _busy)

    def tenants(self) -> list[str]:
        """All that were ever seen."""
        return list(self._snapshot().tenants)

    def now(self, tenant: str) -> Now:
        """The state of affairs."""
        today = self.day(tenant, day_of(self._clock() // MINUTE_MS))
        return now(self._snapshot(), today, len(self._alarms.listed(tenant, is_open=True)))

    def minutes(self, tenant: str, first: int, last: int) -> list[MinuteCard]:
        """The cards of minutes with events, `last` included, oldest first."""
        days = (day_of(first) + timedelta(days=n) for n in range((day_of(last) - day_of(first)).days + 1))
        cards = (card for day in days for card in self._day(tenant, day, first, last))
        return sorted(cards, key=lambda card: card.minute)

    def minute(self, tenant: str, minute: int) -> MinuteCard:
        """A minute's card; an empty one where there was no event."""
        return next(iter(self.minutes(tenant, minute, minute)), empty_card(tenant, minute))

    def pipe(self, tenant: str, pipe: str, first: int) -> PipeCard:
        """Outcomes of a pipe's events since a minute, as far as minutes are complete; of a day at most."""
        last = self._snapshot().whole_minute
        first = max(first, last - DAY_MINUTES + 1)
        cards = self.minutes(tenant, first, last) if first <= last else []
        return pipe_card(tenant, pipe, first, last, cards)

    def _day(self, tenant: str, day: date, first: int, last: int) -> Iterable[MinuteCard]:
        """A day's cards from epoch minute `first` to `last`."""
        begin = first_minute(day)
        since, until = max(first, begin), min(last, begin + DAY_MINUTES - 1)
        found = self._snapshot()
        held: Cards | None = found.cards.get((tenant, day))
        if held is None:
            return () if self._is_idle(found, tenant, day) else self._tables.cards(tenant, since, until)
        return (card for minute, card in held.items() if since <= minute <= until)

    def day(self, tenant: str, day: date) -> DayCard:
        """A day's card; an empty one of a day without events."""
        found = self._snapshot()
        card = found.days.get((tenant, day))
        if card is None and not self._is_idle(found, tenant, day):
            card = self._tables.day(tenant, day)
        return card if card is not None else day_card(tenant, day, (), {})

    def _is_idle(self, found: Snapshot, tenant: str, day: date) -> bool:
        """Whether it is known without the store, which pages would ask all the time, that it had no events.

        Today's tenants with events are all in memory once the card of all tenants is made.
        """
        today = day_of(self._clock() // MINUTE_MS)
        return day == today and (ALL_TENANTS, day) in found.days and (tenant, day) not in found.cards

    def calendar(self, tenant: str, days: int) -> list[DayMark]:
        """The last days, today included, oldest first; those without events too."""
        today = day_of(self._clock() // MINUTE_MS)
        first = today - timedelta(days=days - 1)
        marks = {mark.day: mark for mark in self._tables.marks(tenant, first, today)}
        held = self._snapshot().days
        marks |= {card.day: day_mark(card) for (name, _), card in held.items() if name == tenant}
        names = ((first + timedelta(days=n)).isoformat() for n in range(days))
        return [
            marks.get(name) or DayMark(day=name, nines=None, spent=0, minutes=0, lost=0) for name in names
        ]

    def calendar_day(self, tenant: str, day: date) -> list[MinuteMark]:
        """A day's minutes with events, oldest first."""
        begin = first_minute(day)
        return [minute_mark(card) for card in self.minutes(tenant, begin, begin + DAY_MINUTES - 1)]

    def destinations(self, tenant: str) -> list[DestinationHealth]:
        """How destinations did in the last minutes."""
        return [each for each in self._snapshot().destinations if tenant in (ALL_TENANTS, each.tenant)]

    def skews(self, tenant: str) -> list[FieldSkew]:
        """How watched fields compare with the days before."""
        return [each for each in self._snapshot().skews or () if tenant in (ALL_TENANTS, each.tenant)]

    def alarms(self, tenant: str, is_open: bool | None) -> list[Alarm]:
        """Alarms, newest first: open ones, resolved ones, or both."""
        return self._alarms.listed(tenant, is_open)

    def quiet(self, tenant: str) -> list[QuietWindow]:
        """Quiet windows that are not over."""
        windows = self._alarms.windows()
        return [each for each in windows if tenant == ALL_TENANTS or each.tenant in (ALL_TENANTS, tenant)]

    def add_quiet(self, window: QuietWindow) -> QuietWindow:
        """A new window."""
        return self._alarms.add_window(window)

    def remove_quiet(self, window: str) -> bool:
        """End a window; False if there is none of that id."""
        return self._alarms.remove_window(window)

    def stability(self, since: int = 0) -> Stability:
        """Whether other actors may go on with what they do to the side.

        Args:
            since: what happened in earlier minutes does not count; epoch minute, 0 for all.
        """
        found = self._snapshot()
        if self._clock() - found.at_ms > _STALE_MS:
            return Stability(stable=False, reasons=(_NOT_JUDGED,), silent=True, at_ms=found.at_ms)
        alarms = self._alarms.listed(ALL_TENANTS, is_open=True)
        counted = raised_by if since else about_the_side
        return stability(
            counted(alarms, lambda alarm: found.held(alarm.tenant, _first_minute(alarm, found, since))),
            [card for card in _customers(found) if card.minute >= since],
            found.behind_seconds,
            behind=found.behind,
            at_ms=found.at_ms,
        )

    def activities(self) -> UnderWay:
        """Activities under way on the side, and the wishes of those who wait.

        Raises:
            UnavailableError: if the register was not read.
        """
        found = self._register()
        if found is None:
            raise UnavailableError("the register of activities is not known: see HIFI_DOCUMENTS_TABLE")
        return UnderWay(activities=list(found.activities), wishes=list(found.wishes))

    def timeline(self, first: int, last: int) -> Timeline:
        """The activities on the side, and its stability, in these minutes, `last` included."""
        return self._timeline(first * MINUTE_MS, (last + 1) * MINUTE_MS)

    def places(self, tenant: str, event_id: str, seconds: int) -> EventSearch:
        """Where an event was in the last seconds.

        Raises:
            UnavailableError: if the topics cannot be read now.
            BusyError: if as many searches run already as may at once.
        """
        with self._searches.permit():
            try:
                with self._open_reader() as reader:
                    return find(reader, tenant, event_id, self._clock() - seconds * 1_000)
            except (KafkaException, TimeoutError) as error:
                raise UnavailableError(f"the topics cannot be read: {error}") from error


def _busy() -> BusyError:
    return BusyError(f"{SEARCHES_AT_ONCE} searches for events run already, which is the most at once")


def _first_minute(alarm: Alarm, found: Snapshot, since: int) -> int:
    """The first minute by which an alarm is judged: a burn is about its own window, whatever was before."""
    if alarm.kind is not AlarmKind.BURN:
        return since
    return max(since, oldest_minute(alarm.subject, found.at_ms))


def _customers(found: Snapshot) -> Iterator[MinuteCard]:
    """The last minutes of each customer: hifi's own few events do not show how fast a side is."""
    for tenant in found.tenants:
        if tenant not in OWN_TENANTS:
            yield from found.judged(tenant, GOOD_MINUTES)
