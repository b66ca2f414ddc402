"""Loads and stores observe's state. An unavailable store delays writes and loses nothing."""

from collections.abc import Iterable
from datetime import timedelta
from itertools import chain, groupby
from typing import Final

from msgspec.structs import replace

from pipelines.control.observe.dynamodb import Item
from pipelines.control.observe.ledger.minute_sums import MinuteKey
from pipelines.control.observe.scorecards.day_cards import day_mark
from pipelines.control.observe.scorecards.day_state import DayState
from pipelines.control.observe.scorecards.ledger_state import AHEAD_MS, LedgerPosition, floor_after
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.skew.watched_hours import WatchedHours
from pipelines.control.observe.storage.repository import (
    Repository,
    card_item,
    day_items,
    findings_item,
    position_item,
    retired_item,
    state_item,
    tenant_item,
    watched_item,
)
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS
from shared.contracts.timestamps import DAY_MINUTES, day_of, first_minute
from shared.dynamodb.client import StoreError
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
MOST_DROPPED: Final = 500
"""States dropped per call, unless one minute has more."""


class Persistence:
    """Stores minutes and days. Belongs to one thread."""

    def __init__(
        self,
        tables: Repository,
        tracker: MinuteTracker,
        days: DayState,
        watched: WatchedHours,
        *,
        most_dropped: int = MOST_DROPPED,
    ) -> None:
        self._tables, self._tracker, self._days, self._watched = tables, tracker, days, watched
        self._most_dropped = most_dropped
        self._others_until = 0
        """The last minute of which an earlier process may have stored anything."""

        self._waiting: dict[tuple[str, str], Item] = {}
        """Items to be written, by key."""

        self._position = LedgerPosition()
        """The position that is stored."""

        self.tenants: set[str] = set()

    def restore(self, ledger_end: int, needed: Iterable[int], now_minute: int) -> int:
        """Load the stored state, and the cards of the days of `needed`; returns the offset to continue at.

        Args:
            ledger_end: one past the last offset of the ledger.
            needed: epoch minutes.
            now_minute: the epoch minute, when no other process writes any more.

        Raises:
            StoreError: if the store cannot be read.
        """
        self._others_until = now_minute + AHEAD_MS // MINUTE_MS
        position = self._tables.position() or LedgerPosition()
        self.tenants = set(self._tables.tenants())
        if position.offset > ledger_end:
            extra = {"position": position.offset, "end": ledger_end}
            _log.error(
                "the ledger topic was recreated: the stored state of open minutes is dropped", extra=extra
            )
            self._tables.drop([(state.tenant, state.minute) for state in self._tables.states()])
            self._days.expect((ALL_TENANTS, minute) for minute in needed)
            self._load()
            return 0
        dropped = frozenset(position.dropped)
        states = [state for state in self._tables.states() if (state.tenant, state.minute) not in dropped]
        self._position = position
        self._tracker.ledger.restore(states, position)
        self._tracker.begin(self._tables.findings())
        self._days.expect(self._tracker.ledger.minutes)
        self._days.expect((ALL_TENANTS, minute) for minute in needed)
        self._load()
        extra = {"minutes": len(states), "position": position.offset}
        _log.info("continuing from stored state", extra=extra)
        return position.offset

    def load(self) -> None:
        """Load the stored part of days and of watched hours that are new in memory."""
        try:
            self._load()
        except StoreError as error:
            _log.warning("stored days not loaded: the store failed; retrying", extra={"error": str(error)})

    def _load(self) -> None:
        for day in {day for (tenant, day), _ in self._days.unloaded() if tenant == ALL_TENANTS}:
            # Of a day that begins later, all that there is comes from this process, and is in memory.
            if first_minute(day) <= self._others_until:
                self._days.want(self.tenants, day)
        for (tenant, day), held in self._days.unloaded():
            begin = first_minute(day)
            cards = self._tables.cards(tenant, begin, begin + DAY_MINUTES - 1)
            held.merge(list(cards), self._tables.retired(tenant, day))
        for key in self._watched.unloaded():
            self._watched.merge(key, self._tables.watched_hour(key))

    def save(self) -> bool:
        """Store changes, the position last; False if it failed and should be retried."""
        tracker, days = self._tracker, self._days
        new = {state.tenant for state in tracker.ledger.minutes.values()} - self.tenants
        self.tenants |= new
        position = replace(tracker.ledger.position, dropped=self._position.dropped)
        self._hold(tenant_item(tenant) for tenant in new)
        self._hold(state_item(state) for state in tracker.unsaved())
        self._hold(findings_item(*found) for found in tracker.changed_findings())
        self._hold(card_item(card) for card in days.unsaved())
        for card in days.refresh(tracker.ledger.minutes):
            self._hold(day_items(card, day_mark(card)))
        try:
            self._tables.write(self._waiting.values())
            self._tables.write([position_item(position)])
        except StoreError as error:
            _log.warning(
                "state not stored: the store failed; retrying",
                extra={"error": str(error), "items": len(self._waiting)},
            )
            return False
        self._waiting.clear()
        self._position = position
        return True

    def _hold(self, items: Iterable[Item]) -> None:
        self._waiting.update({(item.pk, item.sk): item for item in items})

    def forget(self, before_minute: int, needed: Iterable[int] = ()) -> None:
        """Drop the states of older, settled minutes from memory and store; call after a successful `save`.

        The cards of `needed` stay in memory. The stored position decides: what it calls dropped is not
        restored, whatever is left of it.
        """
        keys = self._droppable(before_minute)
        floor = floor_after(self._position.floor, keys)
        position = replace(self._position, floor=floor, dropped=[*self._position.dropped, *keys])
        try:
            if keys:
                self._tables.write(self._retired(keys))
                self._tables.write([position_item(position)])
                self._position = position
            self._tracker.forget(before_minute, keys)
            self._forget_days(before_minute, needed)
            self._tables.drop(self._position.dropped)
            self._position = replace(self._position, dropped=[])
        except StoreError as error:
            _log.warning("old minutes not dropped: the store failed; retrying", extra={"error": str(error)})

    def _forget_days(self, before_minute: int, needed: Iterable[int]) -> None:
        held = (minute for _, minute in self._tracker.ledger.minutes)
        kept = {day_of(minute) for minute in chain(held, needed)}
        self._days.forget(day_of(before_minute) - timedelta(days=1), kept)

    def _droppable(self, before_minute: int) -> list[MinuteKey]:
        """The states of the oldest minutes that may be dropped.

        A minute goes with all its tenants: from a part of them the card of all tenants would be wrong.
        """
        found: list[MinuteKey] = []
        for _, minute in groupby(self._tracker.forgettable(before_minute), key=lambda key: key[1]):
            keys = list(minute)
            waiting = [key for key in keys if not self._retirable(key)]
            if not waiting:
                found += keys
            if len(found) >= self._most_dropped:
                break
        return found

    def _retirable(self, key: MinuteKey) -> bool:
        state = self._tracker.ledger.minutes[key]
        return self._days.loaded((key[0], day_of(key[1]))) and self._watched.retirable(state)

    def _retired(self, keys: Iterable[MinuteKey]) -> Iterable[Item]:
        states = [self._tracker.ledger.minutes[key] for key in keys]
        retired = dict(map(self._days.retire, states))
        watched = dict(self._watched.retire(state) for state in states if state.watched)
        return [
            *(retired_item(*day, found) for day, found in retired.items()),
            *(watched_item(hour, found) for hour, found in watched.items()),
        ]
