"""Which deliveries were made: what `receipts` says, and what this process did beyond that."""

import threading
from collections.abc import Iterable
from typing import Literal

from confluent_kafka import Message

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from shared.contracts import headers as h
from shared.contracts.receipts import KEY_BYTES, unpack_keys

Known = Literal["no", "recorded", "unrecorded"]


class DeliveryHistory:
    """The memory of recent deliveries, safe to use from the tail's thread and a task's at once.

    Only what was *delivered* is in it: the receipt of a retry may have been written while the retry record
    was not, and to drop the event then would lose it.

    Why a replay doubles at most one micro-batch: a micro-batch ends when its receipts are acknowledged, and
    the next one begins after that. Whoever crashes, whatever a finished micro-batch delivered is in the
    topic, and a worker reads it all before its first send. What is missing is what was in flight.
    """

    def __init__(self, memory: DedupWindow) -> None:
        self._memory = memory
        self._own: dict[bytes, None] = {}
        self._lock = threading.Lock()

    def take(self, receipts: Iterable[Message]) -> None:
        """Learn from `receipts` records."""
        for receipt in receipts:
            packed = dict(receipt.headers() or ()).get(h.DELIVERED)
            if isinstance(packed, bytes) and len(packed) % KEY_BYTES == 0:
                self._record(unpack_keys(packed), receipt.timestamp()[1])

    def add(self, keys: Iterable[bytes]) -> None:
        """Remember what this process delivered just now; its receipts are still to be written."""
        with self._lock:
            self._own.update(dict.fromkeys(keys))

    def known(self, key: bytes) -> Known:
        """Whether a delivery was made, and whether its receipt was seen."""
        with self._lock:
            if key in self._own:
                return "unrecorded"
            return "recorded" if key in self._memory else "no"

    def _record(self, keys: Iterable[bytes], at_ms: int) -> None:
        with self._lock:
            for key in keys:
                self._memory.add(key, at_ms)
                self._own.pop(key, None)
