"""What observe keeps, as items of the store: states, cards, days, and where it is in the ledger."""

from collections.abc import Iterable, Iterator, Mapping
from datetime import date
from typing import Final

import msgspec

from pipelines.control.observe.dynamodb import Item, Store
from pipelines.control.observe.ledger.minute_sums import MinuteKey, MinuteState
from pipelines.control.observe.scorecards.day_state import RetiredMinutes
from pipelines.control.observe.scorecards.ledger_state import LedgerPosition
from pipelines.control.observe.verdicts.event_identification import Identified
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import DayCard, DayMark, MinuteCard

KEPT_SECONDS: Final = 400 * 86_400
"""How long cards are kept after their minute."""

_STATE: Final = "state"
_FOUND: Final = "found"
_TENANT: Final = "tenant"
_POSITION: Final = ("position", "ledger")
_DAY_SECONDS: Final = 86_400
_EPOCH: Final = date(1970, 1, 1)


class Repository:
    """Reads and writes; each method raises StoreError where the store cannot be used."""

    def __init__(self, store: Store) -> None:
        self._store = store

    def write(self, items: Iterable[Item]) -> None:
        """Items of the functions below."""
        self._store.put(items)

    def drop(self, keys: Iterable[MinuteKey]) -> None:
        """Forget minutes' states; their cards stay."""
        self._store.delete_all((kind, _sk(key)) for key in keys for kind in (_STATE, _FOUND))

    def states(self) -> Iterator[MinuteState]:
        """Every state that was not dropped."""
        return (MinuteState.decode(item.body) for item in self._store.query(_STATE))

    def findings(self) -> Mapping[MinuteKey, Identified]:
        """What was found for these states' names."""
        return {
            _key(item.sk): msgspec.msgpack.decode(item.body, type=Identified)
            for item in self._store.query(_FOUND)
        }

    def position(self) -> LedgerPosition | None:
        """Where to go on; None at the first start."""
        body = self._store.get(*_POSITION)
        return None if body is None else msgspec.msgpack.decode(body, type=LedgerPosition)

    def tenants(self) -> list[str]:
        """All that were ever seen."""
        return [item.sk.removeprefix("=") for item in self._store.query(_TENANT)]

    def cards(self, tenant: str, first: int, last: int) -> Iterator[MinuteCard]:
        """Cards of minutes, `last` included, in order."""
        found = self._store.query(f"card/{tenant}", f"{first:010d}", f"{last:010d}")
        return (msgspec.msgpack.decode(item.body, type=MinuteCard) for item in found)

    def day(self, tenant: str, day: date) -> DayCard | None:
        """A day's card; None if nothing is known of it."""
        body = self._store.get(f"day/{tenant}", day.isoformat())
        return None if body is None else msgspec.msgpack.decode(body, type=DayCard)

    def marks(self, tenant: str, first: date, last: date) -> Iterator[DayMark]:
        """Marks of the days that anything is known of, `last` included, in order."""
        found = self._store.query(f"mark/{tenant}", first.isoformat(), last.isoformat())
        return (msgspec.msgpack.decode(item.body, type=DayMark) for item in found)

    def retired(self, tenant: str, day: date) -> RetiredMinutes:
        """Of a day, what is no longer in states."""
        body = self._store.get(f"lags/{tenant}", day.isoformat())
        return RetiredMinutes() if body is None else msgspec.msgpack.decode(body, type=RetiredMinutes)


def state_item(state: MinuteState) -> Item:
    """A minute's state."""
    return Item(_STATE, _sk((state.tenant, state.minute)), state.encode())


def findings_item(key: MinuteKey, found: Identified) -> Item:
    """What was found for a minute's names."""
    return Item(_FOUND, _sk(key), msgspec.msgpack.encode(found))


def tenant_item(tenant: str) -> Item:
    """That there is such a tenant."""
    return Item(_TENANT, f"={tenant}", b"")


def card_item(card: MinuteCard) -> Item:
    """A minute's card."""
    expires_s = card.minute * MINUTE_MS // 1_000 + KEPT_SECONDS
    return Item(f"card/{card.tenant}", f"{card.minute:010d}", msgspec.msgpack.encode(card), expires_s)


def day_items(card: DayCard, mark: DayMark) -> tuple[Item, Item]:
    """A day's card and its mark."""
    expires_s = _expiry(date.fromisoformat(card.day))
    return (
        Item(f"day/{card.tenant}", card.day, msgspec.msgpack.encode(card), expires_s),
        Item(f"mark/{card.tenant}", card.day, msgspec.msgpack.encode(mark), expires_s),
    )


def retired_item(tenant: str, day: date, retired: RetiredMinutes) -> Item:
    """Of a day, what is no longer in states."""
    return Item(f"lags/{tenant}", day.isoformat(), msgspec.msgpack.encode(retired), _expiry(day))


def position_item(position: LedgerPosition) -> Item:
    """Where to go on: to be written after the states."""
    return Item(*_POSITION, msgspec.msgpack.encode(position))


def _expiry(day: date) -> int:
    """When what is kept of a day may be deleted, epoch seconds."""
    return (day.toordinal() - _EPOCH.toordinal() + 1) * _DAY_SECONDS + KEPT_SECONDS


def _sk(key: MinuteKey) -> str:
    return f"{key[1]:010d}/{key[0]}"


def _key(sk: str) -> MinuteKey:
    minute, _, tenant = sk.partition("/")
    return tenant, int(minute)
