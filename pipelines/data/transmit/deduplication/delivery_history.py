"""Recent deliveries: those in `receipts`, and those of this process that it has not read there yet."""

import threading
from collections.abc import Iterable
from typing import Literal, NamedTuple

from confluent_kafka import Message

from pipelines.data.transmit.deduplication.dedup_window import DedupWindow
from shared.contracts import headers as h
from shared.contracts.receipts import KEY_BYTES, unpack_keys
from shared.runtime.clock import Clock

Known = Literal["no", "recorded", "unrecorded"]


class MicroBatch(NamedTuple):
    """One micro-batch of a query, which may be tried several times."""

    run: str
    """The run of the query."""

    number: str


class DeliveryHistory:
    """Recent deliveries; safe to use from several threads.

    Only *delivered* events are recorded: the receipt of a retry may have been written when the retry record
    was not, and dropping the event then would lose it.

    Why a crash doubles at most one micro-batch: a micro-batch ends when its receipts are acknowledged, and
    the next one begins after that. So after any crash the topic has all deliveries of finished micro-batches,
    and a worker reads them all before it first sends. Only those in flight are missing.

    For the same reason what this process delivered in an earlier micro-batch of the present run is recorded,
    also before it was read. Of an earlier run the receipts of the last micro-batch may be missing.
    """

    def __init__(self, memory: DedupWindow, clock: Clock) -> None:
        self._memory, self._clock = memory, clock
        self._own: dict[bytes, int] = {}
        """Deliveries of this process that were not read yet, and the `_present` micro-batch of each."""

        self._batch = MicroBatch("", "")
        self._present = self._first_of_run = 0
        self._lock = threading.Lock()

    def begin(self, batch: MicroBatch) -> None:
        """A task of this micro-batch begins, or is tried again; what is added belongs to it."""
        with self._lock:
            if batch != self._batch:
                self._present += 1
            if batch.run != self._batch.run:
                self._first_of_run = self._present
            self._batch = batch

    def take(self, receipts: Iterable[Message]) -> None:
        """Record the deliveries in `receipts` records."""
        now_ms = self._clock()
        for receipt in receipts:
            packed = dict(receipt.headers() or ()).get(h.DELIVERED)
            if isinstance(packed, bytes) and len(packed) % KEY_BYTES == 0:
                self._record(unpack_keys(packed), receipt.timestamp()[1], now_ms)

    def add(self, keys: Iterable[bytes]) -> None:
        """Record deliveries that this process has just made and not yet written receipts for."""
        with self._lock:
            self._own.update(dict.fromkeys(keys, self._present))

    def known(self, key: bytes) -> Known:
        """Whether a delivery was made, and whether its receipt was written."""
        with self._lock:
            made = self._own.get(key)
            if made is None:
                return "recorded" if key in self._memory else "no"
            return "recorded" if self._first_of_run <= made < self._present else "unrecorded"

    def _record(self, keys: Iterable[bytes], at_ms: int, now_ms: int) -> None:
        with self._lock:
            for key in keys:
                self._memory.add(key, at_ms, now_ms)
                self._own.pop(key, None)
