"""Writes to the table when write keys were last used, as collect reports it."""

import threading
from typing import Final, NamedTuple

import msgspec
from confluent_kafka import Message

from shared.contracts.key_usage import STORED_MS, KeyUse, decode, partition, sort_key
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
WINDOW_MS = STORED_MS
"""How far back `key_usage` is read again at the start, milliseconds: earlier uses are in the table."""

_KEPT_MS: Final = 2 * STORED_MS
"""How long a process that does not lead keeps a use: the leader wrote it long ago."""

_MOST_KEYS: Final = 50
"""Most keys written in one turn, with up to two requests each. Documents wait meanwhile; so does the rest."""

_LONGEST_MS: Final = 200
"""Milliseconds after which a turn begins no further key."""

_Key = tuple[str, str]
"""Tenant and sort key."""


class _Pending(NamedTuple):
    use: KeyUse
    taken_ms: int
    """When it was read, by this process's clock: the use's own time may be wrong or older."""


class KeyUsageWriter:
    """`take` is called on one thread, `write` on another."""

    def __init__(self, items: ItemStore[int], side: str, clock: Clock) -> None:
        self._items, self._side, self._clock = items, side, clock
        self._lock = threading.Lock()
        self._pending: dict[_Key, _Pending] = {}
        """One for each key at most; the key that waits longest is the first."""

        self._written: dict[_Key, int] = {}
        """The table's last use of keys that were used recently."""

    def __len__(self) -> int:
        return len(self._pending) + len(self._written)

    def take(self, messages: list[Message]) -> None:
        """Learn from records of `key_usage`."""
        now_ms = self._clock()
        for message in messages:
            try:
                used = decode(message.value() or b"")
            except msgspec.MsgspecError as error:
                _log.warning("use of keys ignored: it cannot be read", extra={"error": str(error)})
                continue
            with self._lock:
                for each in used:
                    key = each.tenant, sort_key(each.source, each.key_id, self._side)
                    self._pending[key] = _Pending(each, now_ms)
        with self._lock:
            oldest = now_ms - _KEPT_MS
            self._pending = {key: each for key, each in self._pending.items() if each.taken_ms >= oldest}

    def write(self) -> None:
        """Write what the table is too far behind, as much of it as a turn has time for.

        Raises:
            StoreError: if the table cannot be used; what is left is written the next time.
        """
        with self._lock:
            pending = dict(self._pending)
        until, begun = self._clock() + _LONGEST_MS, 0
        for key, each in pending.items():
            at_ms = min(each.use.at_ms, self._clock())
            if self._is_due(key, at_ms):
                if begun == _MOST_KEYS or self._clock() >= until:
                    break
                begun += 1
                self._put(key, at_ms)
            self._done(key, each)
        oldest = self._clock() - STORED_MS
        self._written = {key: at_ms for key, at_ms in self._written.items() if at_ms > oldest}

    def _is_due(self, key: _Key, at_ms: int) -> bool:
        """Whether the table is too far behind, as far as is known without asking it."""
        return key not in self._written or at_ms - self._written[key] >= STORED_MS

    def _put(self, key: _Key, at_ms: int) -> None:
        tenant, sort = key
        if key not in self._written:
            self._written[key] = self._items.get(partition(tenant), sort) or 0
        if self._is_due(key, at_ms):
            self._items.put(partition(tenant), sort, at_ms)
            self._written[key] = at_ms

    def _done(self, key: _Key, each: _Pending) -> None:
        with self._lock:
            if self._pending.get(key) is each:  # there may be a newer use, or it was dropped as too old
                del self._pending[key]
