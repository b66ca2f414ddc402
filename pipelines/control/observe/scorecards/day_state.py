"""Days: the cards of their minutes, and the lags of all that their minutes ever had. No I/O."""

from collections.abc import Iterable, Mapping
from datetime import date
from typing import Final, NamedTuple

import msgspec

from pipelines.control.observe.ledger.minute_sums import Lags, MinuteState, merged_lags
from pipelines.control.observe.scorecards.day_cards import day_card
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard
from shared.contracts.timestamps import day_of

DayKey = tuple[str, date]
"""Tenant and day."""

Cards = Mapping[int, MinuteCard]
"""By minute. Replaced, never changed: others may read it."""

_BUSY: Final = 10
"""The newest minutes of a day, which are likely to change again."""


class RetiredMinutes(msgspec.Struct):
    """Of a day: the lags of minutes whose states were dropped, and which minutes these are."""

    minutes: set[int] = msgspec.field(default_factory=set)
    lags: Lags = msgspec.field(default_factory=dict)


class CardChange(NamedTuple):
    """Of a card."""

    before: MinuteCard | None
    after: MinuteCard


class Day:
    """One tenant's."""

    def __init__(self) -> None:
        self.cards: Cards = {}
        self.retired = RetiredMinutes()
        self.loaded = False
        """Whether what was stored of it is in here."""

        self.stale = True
        """Whether its card is older than its minutes'."""

        self._quiet: dict[int, int] = {}
        """Minutes that were summed up once and did not change since, and of which state (`through`)."""

        self._quiet_lags: Lags = {}

    def merge(self, stored: Iterable[MinuteCard], retired: RetiredMinutes) -> None:
        """Add what was stored, which is older than what is held."""
        self.cards = {card.minute: card for card in stored} | dict(self.cards)
        self.retired, self.loaded, self.stale = retired, True, True

    def lags(self, states: Iterable[MinuteState]) -> list[Lags]:
        """Of all its minutes, of which these are held. What has not changed for a while is summed up once."""
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
    """All days that are held. Belongs to one thread."""

    def __init__(self) -> None:
        self._days: dict[DayKey, Day] = {}
        self._unsaved: dict[tuple[str, int], MinuteCard] = {}
        self._cards: dict[DayKey, DayCard] = {}

    def take(self, cards: Iterable[MinuteCard]) -> list[CardChange]:
        """Cards that may have changed; gives those that did."""
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

    def expect(self, states: Iterable[MinuteState]) -> None:
        """Have the days of states that were stored loaded, before any card of theirs is made."""
        for state in states:
            for tenant in (state.tenant, ALL_TENANTS):
                self._held((tenant, day_of(state.minute)))

    def want(self, tenants: Iterable[str], day: date) -> None:
        """Have these tenants' day loaded too, where the day of all of them is held."""
        if (ALL_TENANTS, day) in self._days:
            for tenant in tenants:
                self._held((tenant, day))

    def unloaded(self) -> list[tuple[DayKey, Day]]:
        """What is to be merged with what is stored."""
        return [(key, day) for key, day in self._days.items() if not day.loaded]

    def loaded(self, key: DayKey) -> bool:
        """Whether all of a day is held."""
        day = self._days.get(key)
        return day is not None and day.loaded

    def refresh(self, states: Mapping[tuple[str, int], MinuteState]) -> list[DayCard]:
        """Make the cards of days that changed; gives them."""
        stale = [(key, day) for key, day in self._days.items() if day.stale and day.loaded]
        fresh = []
        for key, day in stale:
            card = day_card(*key, day.cards.values(), self._lags(key, states))
            day.stale = False
            if card != self._cards.get(key):
                self._cards[key] = card
                fresh.append(card)
        return fresh

    def _lags(self, key: DayKey, states: Mapping[tuple[str, int], MinuteState]) -> Lags:
        tenant, day = key
        if tenant != ALL_TENANTS:
            return merged_lags(self._parts(key, states))
        tenants = (name for name, of in self._days if of == day and name != ALL_TENANTS)
        return merged_lags(part for name in tenants for part in self._parts((name, day), states))

    def _parts(self, key: DayKey, states: Mapping[tuple[str, int], MinuteState]) -> list[Lags]:
        day, tenant = self._days[key], key[0]
        held = (states.get((tenant, minute)) for minute in day.cards)
        return day.lags(state for state in held if state is not None)

    def retire(self, state: MinuteState) -> tuple[DayKey, RetiredMinutes]:
        """Take over a state's lags, once; gives what is to be stored before the state is dropped."""
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

    def forget(self, before: date) -> None:
        """Drop days before that one that have nothing to be made or stored; they are in the store."""
        busy = {(tenant, day_of(minute)) for tenant, minute in self._unsaved}
        old = [
            key for key, day in self._days.items() if key[1] < before and not day.stale and key not in busy
        ]
        for key in old:
            del self._days[key]
            self._cards.pop(key, None)

    @property
    def cards(self) -> Mapping[DayKey, Cards]:
        """The minutes' cards of every day that is held."""
        return {key: day.cards for key, day in self._days.items()}

    @property
    def day_cards(self) -> Mapping[DayKey, DayCard]:
        """As of the last refresh."""
        return dict(self._cards)
