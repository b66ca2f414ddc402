"""Persists alarms, quiet windows, notifications and rule history in observe's DynamoDB table."""

from collections.abc import Callable, Iterable
from typing import Final, TypeVar

import msgspec

from pipelines.control.observe.alarms.background_writer import BackgroundWriter
from pipelines.control.observe.alarms.history import History
from pipelines.control.observe.alarms.lifecycle import AlarmState
from pipelines.control.observe.alarms.outbox import Notification
from pipelines.control.observe.dynamodb import Item, Store
from shared.contracts.alarms import QuietWindow
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
T = TypeVar("T")

KEPT_DAYS: Final = 30
"""How long resolved alarms, past quiet windows and notifications that were not accepted are kept."""

_ALARM: Final = "alarm"
_QUIET: Final = "quiet"
_NOTICE: Final = "notice"
_HISTORY: Final = "trend"
_DAY_S: Final = 24 * 60 * 60


class AlarmRepository:
    """Reads the table at the start; changes are written in the background."""

    def __init__(self, store: Store) -> None:
        self._store = store
        self._writer = BackgroundWriter(store)

    def alarms(self) -> list[AlarmState]:
        """All stored alarms, oldest first.

        Raises:
            StoreError: if the table cannot be read. The other reading methods raise it too.
        """
        return self._read(_ALARM, AlarmState.decode)

    def windows(self) -> list[QuietWindow]:
        """All stored quiet windows."""
        return self._read(_QUIET, lambda value: msgspec.msgpack.decode(value, type=QuietWindow))

    def notifications(self) -> list[Notification]:
        """Notifications that were not accepted yet, oldest first."""
        return self._read(_NOTICE, Notification.decode)

    def history(self) -> History:
        """The history stored last."""
        return next(iter(self._read(_HISTORY, History.decode)), History())

    def add_window(self, window: QuietWindow) -> None:
        """Store a quiet window, synchronously.

        Raises:
            StoreError: if the table cannot be written.
        """
        expires = window.until_ms // 1000 + KEPT_DAYS * _DAY_S
        self._store.put([Item(_QUIET, window.id, msgspec.msgpack.encode(window), expires)])

    def remove_window(self, window_id: str) -> None:
        """Delete a quiet window, synchronously.

        Raises:
            StoreError: if the table cannot be written.
        """
        self._store.delete(_QUIET, window_id)

    def keep(
        self, notifications: Iterable[Notification], tracked: Iterable[AlarmState], history: History | None
    ) -> None:
        """Store these in the background; returns at once."""
        others = [_alarm_item(each) for each in tracked]
        if history is not None:
            others.append(Item(_HISTORY, _HISTORY, history.encode()))
        self._writer.put(
            _by_key(_notification_item(notification) for notification in notifications), _by_key(others)
        )

    def forget(self, ids: Iterable[str]) -> None:
        """Delete notifications, in the background."""
        self._writer.delete((_NOTICE, notification) for notification in ids)

    def close(self) -> None:
        """Write what is queued, for two seconds at most."""
        self._writer.close()

    def _read(self, pk: str, decode: Callable[[bytes], T]) -> list[T]:
        found = []
        for item in self._store.query(pk):
            try:
                found.append(decode(item.body))
            except msgspec.MsgspecError as error:
                _log.error(
                    "stored item skipped: it cannot be decoded",
                    extra={"what": pk, "id": item.sk, "error": str(error)},
                )
        return found


def _by_key(items: Iterable[Item]) -> dict[tuple[str, str], Item]:
    return {(item.pk, item.sk): item for item in items}


def _notification_item(notification: Notification) -> Item:
    return Item(
        _NOTICE, notification.id, notification.encode(), notification.made_ms // 1000 + KEPT_DAYS * _DAY_S
    )


def _alarm_item(tracked: AlarmState) -> Item:
    """Open alarms, and those with a notification still due, do not expire."""
    resolved = tracked.alarm.resolved_ms
    expires = None if resolved is None or not tracked.over else resolved // 1000 + KEPT_DAYS * _DAY_S
    return Item(_ALARM, tracked.alarm.id, tracked.encode(), expires)
