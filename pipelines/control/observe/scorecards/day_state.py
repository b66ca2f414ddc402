"""The state of days: their minutes' cards, and the lags of all their minutes. No I/O."""

from collections.abc import Collection, Iterable, Mapping
from datetime import date
from typing import Final, NamedTuple

import msgspec

from pipelines.control.observe.ledger.minute_sums import Lags, MinuteKey, MinuteState, merged_lags
from pipelines.control.observe.scorecards.day_cards import day_card
from shared.contracts.documents import WARM_UP
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard
from shared.contracts.timestamps import day_of

DayKey = tuple[str, date]
"""Tenant and day."""

Cards = Mapping[int, MinuteCard]
"""Cards by minute. Replaced rather than changed, because other threads read it."""

_BUSY: Final = 10
"""Newest minutes of a day, which are likely to change again."""


class RetiredMinutes(msgspec.Struct):
    """The minutes of a day with dropped states, and the sum of their lags."""

    minutes: set[int] = msgspec.field(default_factory=set)
    lags: Lags = msgspec.field(default_factory=dict)


class CardChange(NamedTuple):
    """A card before and after a pass."""

    before: MinuteCard | None
    after: MinuteCard


class Day:
    """One tenant's day."""

    def __init__(self) -> None:
        self.cards: Cards = {}
        self.retired = RetiredMinutes()
        self.loaded = False
        """Whether the stored part has been merged."""

        self.stale = True
        """Whether the day's card is out of date."""

        self._quiet: dict[int, int] = {}
        """Minutes already in the cached sum, with the version (`through`) of their states."""

        self._quiet_lags: Lags = {}

    def merge(self, stored: Iterable[MinuteCard], retired: RetiredMinutes) -> None:
        """Add the stored part; what is held is newer and wins."""
        self.cards = {card.minute: card for card in stored} | dict(self.cards)
        self.retired, self.loaded, self.stale = retired, True, True

    def lags(self, states: Iterable[MinuteState]) -> list[Lags]:
        """The lags of all minutes, given the states still held; unchanged minutes are summed only once."""
        held = {state.minute: state for state in states if state.minute not in self.retired.minutes}
        moved = [
            minute
            for minute, through in self._quiet.items()
            if minute not in held or held[minute].through != through
        ]
        if moved or len(held) - len(self._quiet) > 2 * _BUSY:
            quiet = [held[minute] for minute in sorted(held)[:-_BUSY]]
            self._quiet = {state.minute: state.through for state in quiet}
            self._quiet_lags = merged_lags(state.lags for state in quiet)
        busy = (state.lags for minute, state in held.items() if minute not in self._quiet)
        return [self.retired.lags, self._quiet_lags, *busy]


class DayState:
    """All days in memory. Belongs to one thread."""

    def __init__(self) -> None:
        self._days: dict[DayKey, Day] = {}
        self._unsaved: dict[tuple[str, int], MinuteCard] = {}
        self._cards: dict[DayKey, DayCard] = {}

    def take(self, cards: Iterable[MinuteCard]) -> list[CardChange]:
        """Apply cards that may have changed; returns those that did."""
        new: dict[DayKey, dict[int, MinuteCard]] = {}
        changes = []
        for card in cards:
            key = (card.tenant, day_of(card.minute))
            before = self._held(key).cards.get(card.minute)
            if before != card:
                new.setdefault(key, {})[card.minute] = card
                self._unsaved[card.tenant, card.minute] = card
                changes.append(CardChange(before, card))
        for key, changed in new.items():
            day = self._held(key)
            day.cards, day.stale = {**day.cards, **changed}, True
        return changes

    def _held(self, key: DayKey) -> Day:
        return self._days.setdefault(key, Day())

    def expect(self, keys: Iterable[MinuteKey]) -> None:
        """Mark the days of these minutes to be loaded before cards are made of them."""
        for tenant, minute in keys:
            for each in (tenant, ALL_TENANTS):
                self._held((each, day_of(minute)))

    def want(self, tenants: Iterable[str], day: date) -> None:
        """Mark these tenants' days to be loaded where the day of ALL_TENANTS is held."""
        if (ALL_TENANTS, day) in self._days:
            for tenant in tenants:
                self._held((tenant, day))

    def unloaded(self) -> list[tuple[DayKey, Day]]:
        """Days to be loaded from the store and merged."""
        return [(key, day) for key, day in self._days.items() if not day.loaded]

    def loaded(self, key: DayKey) -> bool:
        """Whether a day is loaded completely."""
        day = self._days.get(key)
        return day is not None and day.loaded

    def refresh(self, states: Mapping[tuple[str, int], MinuteState]) -> list[DayCard]:
        """Recompute and return the cards of days that changed; that of all tenants once each is loaded.

        A day without a minute's card gets none.
        """
        partly = {(ALL_TENANTS, day) for (_, day), _ in self.unloaded()}
        stale = [
            (key, day) for key, day in self._days.items() if day.stale and day.loaded and key not in partly
        ]
        fresh = []
        for key, day in stale:
            day.stale = False
            if not day.cards:
                continue
            card = day_card(*key, day.cards.values(), self._lags(key, states))
            if card != self._cards.get(key):
                self._cards[key] = card
                fresh.append(card)
        return fresh

    def _lags(self, key: DayKey, states: Mapping[tuple[str, int], MinuteState]) -> Lags:
        tenant, day = key
        if tenant != ALL_TENANTS:
            return merged_lags(self._parts(key, states))
        # The lags of the warm-up count for no tenant, as on the cards of minutes.
        tenants = (name for name, of in self._days if of == day and name not in (ALL_TENANTS, WARM_UP))
        return merged_lags(part for name in tenants for part in self._parts((name, day), states))

    def _parts(self, key: DayKey, states: Mapping[tuple[str, int], MinuteState]) -> list[Lags]:
        day, tenant = self._days[key], key[0]
        held = (states.get((tenant, minute)) for minute in day.cards)
        return day.lags(state for state in held if state is not None)

    def retire(self, state: MinuteState) -> tuple[DayKey, RetiredMinutes]:
        """Add a state's lags to the day, once; returns what to store before the state is dropped."""
        key = (state.tenant, day_of(state.minute))
        day = self._days[key]
        if state.minute not in day.retired.minutes:
            lags = merged_lags((day.retired.lags, state.lags))
            day.retired = RetiredMinutes({*day.retired.minutes, state.minute}, lags)
        return key, day.retired

    def unsaved(self) -> list[MinuteCard]:
        """Cards that changed since the last call."""
        cards, self._unsaved = list(self._unsaved.values()), {}
        return cards

    def forget(self, before: date, kept: Collection[date]) -> None:
        """Drop older days, except `kept`, that need no recomputing or storing; the store has them."""
        busy = {*kept, *(day_of(minute) for _, minute in self._unsaved)}
        old = [
            key for key, day in self._days.items() if key[1] < before and not day.stale and key[1] not in busy
        ]
        for key in old:
            del self._days[key]
            self._cards.pop(key, None)

    @property
    def cards(self) -> Mapping[DayKey, Cards]:
        """The minutes' cards of every day in memory."""
        return {key: day.cards for key, day in self._days.items()}

    @property
    def day_cards(self) -> Mapping[DayKey, DayCard]:
        """The day cards of the last refresh."""
        return dict(self._cards)
