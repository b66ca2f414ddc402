"""Writes to the table when write keys were last used, as collect reports it."""

import threading

import msgspec
from confluent_kafka import Message

from shared.contracts.key_usage import STORED_MS, KeyUse, decode, partition, sort_key
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
WINDOW_MS = STORED_MS
"""How far back `key_usage` is read again at the start, milliseconds: earlier uses are in the table."""


class KeyUsageWriter:
    """`take` is called on one thread, `write` on another."""

    def __init__(self, items: ItemStore[int], side: str, clock: Clock) -> None:
        self._items, self._side, self._clock = items, side, clock
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], KeyUse] = {}
        """By tenant and sort key; one for each key at most."""

        self._written: dict[tuple[str, str], int] = {}
        """By tenant and sort key, what the table has of keys that were used a little while ago."""

    def __len__(self) -> int:
        return len(self._pending) + len(self._written)

    def take(self, messages: list[Message]) -> None:
        """Learn from records of `key_usage`."""
        for message in messages:
            try:
                used = decode(message.value() or b"")
            except msgspec.MsgspecError as error:
                _log.warning("use of keys ignored: it cannot be read", extra={"error": str(error)})
                continue
            with self._lock:
                for each in used:
                    self._pending[each.tenant, sort_key(each.source, each.key_id, self._side)] = each

    def write(self) -> None:
        """Write what the table is too far behind.

        Raises:
            StoreError: if the table cannot be used; what is left is written the next time.
        """
        with self._lock:
            pending = dict(self._pending)
        for (tenant, sort), used in pending.items():
            self._put(tenant, sort, min(used.at_ms, self._clock()))
            with self._lock:
                if self._pending[tenant, sort] is used:
                    del self._pending[tenant, sort]
        oldest = self._clock() - STORED_MS
        self._written = {key: at_ms for key, at_ms in self._written.items() if at_ms > oldest}

    def _put(self, tenant: str, sort: str, at_ms: int) -> None:
        key = tenant, sort
        if key not in self._written:
            self._written[key] = self._items.get(partition(tenant), sort) or 0
        if at_ms - self._written[key] >= STORED_MS:
            self._items.put(partition(tenant), sort, at_ms)
            self._written[key] = at_ms
