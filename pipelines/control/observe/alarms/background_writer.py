"""Stores alarm state on its own thread, so that a slow store does not delay the control loop.

Pending writes are kept by key, the last state of each, so an hour's outage of the store takes no more memory
than there are alarms. Notifications are written before the alarms they report: a crash in between sends one
twice rather than never.
"""

import threading
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Final

from pipelines.control.observe.dynamodb import Item, Store
from shared.dynamodb.client import StoreError
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_RETRY_SECONDS: Final = 1.0
_CLOSE_SECONDS: Final = 2.0

ItemKey = tuple[str, str]


@dataclass(slots=True)
class _Pending:
    notifications: dict[ItemKey, Item] = field(default_factory=dict)
    others: dict[ItemKey, Item] = field(default_factory=dict)
    deleted: set[ItemKey] = field(default_factory=set)

    def __bool__(self) -> bool:
        return bool(self.notifications or self.others or self.deleted)


class BackgroundWriter:
    """One thread that writes to the store and retries what failed, for whatever reason."""

    def __init__(self, store: Store, retry_seconds: float = _RETRY_SECONDS) -> None:
        """`retry_seconds` is the pause after a write that failed."""
        self._store = store
        self._retry_seconds = retry_seconds
        self._pending = _Pending()
        self._changed = threading.Condition()
        self._stopping = False
        self._thread = threading.Thread(target=self._run, name="alarm-writer", daemon=True)
        self._thread.start()

    def put(self, notifications: Mapping[ItemKey, Item], others: Mapping[ItemKey, Item]) -> None:
        """Queue these writes, replacing queued ones with the same keys; returns at once."""
        with self._changed:
            self._pending.notifications |= notifications
            self._pending.others |= others
            self._pending.deleted -= notifications.keys() | others.keys()
            self._changed.notify()

    def delete(self, keys: Iterable[ItemKey]) -> None:
        """Queue these deletions; returns at once."""
        with self._changed:
            for key in keys:
                self._pending.notifications.pop(key, None)
                self._pending.others.pop(key, None)
                self._pending.deleted.add(key)
            self._changed.notify()

    def close(self) -> None:
        """Write what is queued, for two seconds at most, and end the thread."""
        with self._changed:
            self._stopping = True
            self._changed.notify()
        self._thread.join(_CLOSE_SECONDS)

    def _run(self) -> None:
        while batch := self._next():
            try:
                self._write(batch)
            except StoreError as error:
                _log.warning(
                    "alarm state not stored: the store failed; retrying", extra={"error": str(error)}
                )
            except Exception:  # without this thread no alarm would be stored any more
                _log.exception("alarm state not stored: unexpected error; retrying")
            else:
                continue
            if not self._put_back(batch):
                return

    def _next(self) -> _Pending | None:
        """Wait for queued writes and take them; None after `close`, when none are left."""
        with self._changed:
            self._changed.wait_for(lambda: self._pending or self._stopping)
            batch, self._pending = self._pending, _Pending()
            return batch or None

    def _write(self, batch: _Pending) -> None:
        for key in batch.deleted:
            self._store.delete(*key)
        self._store.put(batch.notifications.values())
        self._store.put(batch.others.values())

    def _put_back(self, batch: _Pending) -> bool:
        """Queue a failed batch again unless newer writes replace it, then pause; False after `close`."""
        with self._changed:
            newer = self._pending
            known = newer.notifications.keys() | newer.others.keys() | newer.deleted
            newer.deleted |= batch.deleted - newer.notifications.keys() - newer.others.keys()
            newer.notifications = {
                k: v for k, v in batch.notifications.items() if k not in known
            } | newer.notifications
            newer.others = {k: v for k, v in batch.others.items() if k not in known} | newer.others
            return not self._changed.wait_for(lambda: self._stopping, self._retry_seconds)
