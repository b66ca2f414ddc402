"""Observe's state as items of the store: minutes' states, cards, days and the position in the ledger."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Final

import msgspec

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.ledger.minute_sums import IncompleteError, MinuteKey, MinuteState
from pipelines.control.observe.scorecards.day_state import RetiredMinutes
from pipelines.control.observe.scorecards.ledger_state import LedgerPosition
from pipelines.control.observe.skew.watched_hours import HourKey, RetiredHour
from pipelines.control.observe.verdicts.event_identification import Identified
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import DayCard, DayMark, MinuteCard
from shared.contracts.timestamps import FIRST_DAY
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
KEPT_SECONDS: Final = 400 * 86_400
"""How long cards are kept after their minute."""

WATCHED_SECONDS: Final = 9 * 86_400
"""How long the counts of watched fields are kept: a week of days to compare with, and a margin."""

_STATE: Final = "state"
_FOUND: Final = "found"
_TENANT: Final = "tenant"
_POSITION: Final = ("position", "ledger")
_HOUR_SECONDS: Final = 3_600
_DAY_SECONDS: Final = 86_400


class Repository:
    """Reads and writes items. Every method raises StoreError if the store fails."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, items: Iterable[Item]) -> None:
        """Write items made by the functions below."""
        self._store.put(items)

    def drop(self, keys: Iterable[MinuteKey]) -> None:
        """Delete minutes' states; their cards stay."""
        self._store.delete_all((kind, _sk(key)) for key in keys for kind in (_STATE, _FOUND))

    def states(self) -> Iterator[MinuteState]:
        """All stored states, without those of which parts have expired (see `dynamodb`).

        Such a minute is long over, and later records of it count nowhere.
        """
        for item in self._store.query(_STATE):
            try:
                state = MinuteState.decode(item.body)
            except IncompleteError as error:
                extra = {"id": item.sk, "error": str(error)}
                _log.error("stored state of a minute skipped: parts of it have expired", extra=extra)
                continue
            yield state

    def findings(self) -> Mapping[MinuteKey, Identified]:
        """The findings stored for these states, without those of which parts have expired."""
        return dict(self._findings())

    def _findings(self) -> Iterator[tuple[MinuteKey, Identified]]:
        for item in self._store.query(_FOUND):
            try:
                found = msgspec.msgpack.decode(item.body, type=Identified)
            except msgspec.MsgspecError as error:
                extra = {"id": item.sk, "error": str(error)}
                _log.error("stored findings of a minute skipped: parts of them have expired", extra=extra)
                continue
            yield _key(item.sk), found

    def position(self) -> LedgerPosition | None:
        """The stored position in the ledger; None at the first start."""
        body = self._store.get(*_POSITION)
        return None if body is None else msgspec.msgpack.decode(body, type=LedgerPosition)

    def tenants(self) -> list[str]:
        """All tenants ever seen."""
        return [item.sk.removeprefix("=") for item in self._store.query(_TENANT)]

    def cards(self, tenant: str, first: int, last: int) -> Iterator[MinuteCard]:
        """Cards of minutes, `last` included, in order."""
        found = self._store.query(f"card/{tenant}", f"{first:010d}", f"{last:010d}")
        return (msgspec.msgpack.decode(item.body, type=MinuteCard) for item in found)

    def day(self, tenant: str, day: date) -> DayCard | None:
        """A day's card; None if there is none."""
        body = self._store.get(f"day/{tenant}", day.isoformat())
        return None if body is None else msgspec.msgpack.decode(body, type=DayCard)

    def marks(self, tenant: str, first: date, last: date) -> Iterator[DayMark]:
        """Marks of days that have one, `last` included, in order."""
        found = self._store.query(f"mark/{tenant}", first.isoformat(), last.isoformat())
        return (msgspec.msgpack.decode(item.body, type=DayMark) for item in found)

    def retired(self, tenant: str, day: date) -> RetiredMinutes:
        """The retired minutes of a day."""
        body = self._store.get(f"lags/{tenant}", day.isoformat())
        return RetiredMinutes() if body is None else msgspec.msgpack.decode(body, type=RetiredMinutes)

    def watched_hour(self, key: HourKey) -> RetiredHour:
        """The counts of watched fields in the retired minutes of an hour."""
        tenant, hour = key
        body = self._store.get(f"watched/{tenant}", f"{hour:08d}")
        return RetiredHour() if body is None else msgspec.msgpack.decode(body, type=RetiredHour)


def state_item(state: MinuteState) -> Item:
    """The item of a minute's state."""
    return Item(_STATE, _sk((state.tenant, state.minute)), state.encode())


def findings_item(key: MinuteKey, found: Identified) -> Item:
    """The item of a minute's findings."""
    return Item(_FOUND, _sk(key), msgspec.msgpack.encode(found))


def tenant_item(tenant: str) -> Item:
    """The item that records a tenant."""
    return Item(_TENANT, f"={tenant}", b"")


def card_item(card: MinuteCard) -> Item:
    """The item of a minute's card."""
    expires_s = card.minute * MINUTE_MS // 1_000 + KEPT_SECONDS
    return Item(f"card/{card.tenant}", f"{card.minute:010d}", msgspec.msgpack.encode(card), expires_s)


def day_items(card: DayCard, mark: DayMark) -> tuple[Item, Item]:
    """The items of a day's card and its mark."""
    expires_s = _expiry(date.fromisoformat(card.day))
    return (
        Item(f"day/{card.tenant}", card.day, msgspec.msgpack.encode(card), expires_s),
        Item(f"mark/{card.tenant}", card.day, msgspec.msgpack.encode(mark), expires_s),
    )


def retired_item(tenant: str, day: date, retired: RetiredMinutes) -> Item:
    """The item of a day's retired minutes."""
    return Item(f"lags/{tenant}", day.isoformat(), msgspec.msgpack.encode(retired), _expiry(day))


def watched_item(key: HourKey, retired: RetiredHour) -> Item:
    """The item of the counts of watched fields in an hour's retired minutes."""
    tenant, hour = key
    expires_s = (hour + 1) * _HOUR_SECONDS + WATCHED_SECONDS
    return Item(f"watched/{tenant}", f"{hour:08d}", msgspec.msgpack.encode(retired), expires_s)


def position_item(position: LedgerPosition) -> Item:
    """The item of the position in the ledger; written after the states."""
    return Item(*_POSITION, msgspec.msgpack.encode(position))


def _expiry(day: date) -> int:
    """When the items of a day expire, epoch seconds."""
    return (day.toordinal() - FIRST_DAY.toordinal() + 1) * _DAY_SECONDS + KEPT_SECONDS


def _sk(key: MinuteKey) -> str:
    return f"{key[1]:010d}/{key[0]}"


def _key(sk: str) -> MinuteKey:
    minute, _, tenant = sk.partition("/")
    return tenant, int(minute)
