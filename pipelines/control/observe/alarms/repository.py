"""What of the alarms survives a restart, in observe's table."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import msgspec

from pipelines.control.observe.alarms.history import Trends
from pipelines.control.observe.alarms.lifecycle import Tracked
from pipelines.control.observe.alarms.outbox import Letter
from pipelines.control.observe.dynamodb import Item, Store, StoreError
from shared.contracts.alarms import QuietWindow
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
T = TypeVar("T")

KEPT_DAYS: Final = 30
"""Of a resolved alarm, a quiet window that is over, and a notice that was not taken."""

_ALARM: Final = "alarm"
_QUIET: Final = "quiet"
_NOTICE: Final = "notice"
_TREND: Final = "trend"
_DAY_S: Final = 24 * 60 * 60


class Memory:
    """Writes what changed; what could not be written is written the next time.

    Notices are written before the alarms that they tell of: a crash in between tells twice, never not at all.
    """

    def __init__(self, store: Store) -> None:
        self._store = store
        self._notices: dict[str, Item] = {}
        self._others: dict[tuple[str, str], Item] = {}
        self._sent: set[str] = set()

    def alarms(self) -> list[Tracked]:
        """All that are kept, oldest first.

        Raises:
            StoreError: if the table cannot be read. So do the others.
        """
        return self._read(_ALARM, Tracked.decode)

    def windows(self) -> list[QuietWindow]:
        """All that are kept."""
        return self._read(_QUIET, lambda value: msgspec.msgpack.decode(value, type=QuietWindow))

    def letters(self) -> list[Letter]:
        """Those that are not taken yet, oldest first."""
        return self._read(_NOTICE, Letter.decode)

    def trends(self) -> Trends:
        """As they were stored last."""
        return next(iter(self._read(_TREND, Trends.decode)), Trends())

    def add_window(self, window: QuietWindow) -> None:
        """Keep a window, at once.

        Raises:
            StoreError: if that is not possible now.
        """
        expires = window.until_ms // 1000 + KEPT_DAYS * _DAY_S
        self._store.put([Item(_QUIET, window.id, msgspec.msgpack.encode(window), expires)])

    def remove_window(self, window_id: str) -> None:
        """Forget a window, at once.

        Raises:
            StoreError: if that is not possible now.
        """
        self._store.delete(_QUIET, window_id)

    def keep(self, letters: Iterable[Letter], tracked: Iterable[Tracked], trends: Trends | None) -> None:
        """Write these, and what could not be written before. A failure is logged."""
        self._notices |= {letter.id: _notice(letter) for letter in letters}
        self._others |= {(_ALARM, each.alarm.id): _alarm(each) for each in tracked}
        if trends is not None:
            self._others[_TREND, _TREND] = Item(_TREND, _TREND, trends.encode())
        try:
            self._write()
        except StoreError as error:
            _log.warning("alarms not stored, trying again", extra={"error": str(error)})

    def taken(self, ids: Iterable[str]) -> None:
        """Forget letters that were taken, with the next `keep`."""
        self._sent.update(ids)

    def _write(self) -> None:
        for letter in list(self._sent):
            if self._notices.pop(letter, None) is None:
                self._store.delete(_NOTICE, letter)
            self._sent.discard(letter)
        self._store.put(self._notices.values())
        self._notices = {}
        self._store.put(self._others.values())
        self._others = {}

    def _read(self, pk: str, decode: Callable[[bytes], T]) -> list[T]:
        found = []
        for item in self._store.query(pk):
            try:
                found.append(decode(item.body))
            except msgspec.MsgspecError as error:
                _log.error(
                    "left out of what was stored", extra={"what": pk, "id": item.sk, "error": str(error)}
                )
        return found


def _notice(letter: Letter) -> Item:
    return Item(_NOTICE, letter.id, letter.encode(), letter.made_ms // 1000 + KEPT_DAYS * _DAY_S)


def _alarm(tracked: Tracked) -> Item:
    """One that is open, or of which somebody is still to be told, does not expire."""
    resolved = tracked.alarm.resolved_ms
    expires = None if resolved is None or not tracked.over else resolved // 1000 + KEPT_DAYS * _DAY_S
    return Item(_ALARM, tracked.alarm.id, tracked.encode(), expires)
