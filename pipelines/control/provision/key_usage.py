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
"""What is read again at the start: earlier uses are in the table."""


class KeyUsageWriter:
    """`take` is called on one thread, `write` on another."""

    def __init__(self, items: ItemStore[int], side: str, clock: Clock) -> None:
        self._items, self._side, self._clock = items, side, clock
        self._lock = threading.Lock()
        self._pending: dict[tuple[str, str], KeyUse] = {}
        """By tenant and sort key; one for each key at most."""

        self._written: dict[str, dict[str, int]] = {}
        """By tenant and sort key; read from the table when a key of the tenant is first used."""

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

    def _put(self, tenant: str, sort: str, at_ms: int) -> None:
        if tenant not in self._written:
            self._written[tenant] = dict(self._items.all(partition(tenant)))
        if at_ms - self._written[tenant].get(sort, 0) < STORED_MS:
            return
        self._items.put(partition(tenant), sort, at_ms)
        self._written[tenant][sort] = at_ms
