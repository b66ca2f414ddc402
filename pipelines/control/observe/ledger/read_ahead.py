"""Records of the ledger that are read ahead of their use, bounded by the bytes of their values."""

from collections import deque
from collections.abc import Iterator
from threading import Condition
from typing import Final, NamedTuple

AHEAD_BYTES: Final = 16 * 1024 * 1024
"""Bytes of values that are kept ahead. A record has a megabyte at most, and is decoded only when it is taken:
by count alone, as many as may wait could take gigabytes."""

BATCH_BYTES: Final = 1024 * 1024
BATCH_RECORDS: Final = 200
"""Most that is taken together, unless a single record is larger."""


class Record(NamedTuple):
    """A record of the ledger, as it was read."""

    offset: int
    value: bytes


class ReadAhead:
    """A queue from one thread to another."""

    def __init__(self, most_bytes: int = AHEAD_BYTES) -> None:
        self._most_bytes = most_bytes
        self._records: deque[Record] = deque()
        self._changed = Condition()
        self.held_bytes = 0
        """Bytes of the values that wait."""

    @property
    def empty(self) -> bool:
        """Whether no record waits."""
        return not self._records

    def put(self, record: Record, seconds: float) -> bool:
        """Add a record; False if there was no room for `seconds`. An empty queue has room for any record."""
        with self._changed:
            if not self._changed.wait_for(lambda: self._has_room(record), seconds):
                return False
            self._records.append(record)
            self.held_bytes += len(record.value)
            self._changed.notify_all()
            return True

    def take(self, seconds: float) -> list[Record]:
        """The oldest records, a batch at most; waits `seconds` for the first one only."""
        with self._changed:
            self._changed.wait_for(lambda: bool(self._records), seconds)
            batch = [*self._batch()]
            self._changed.notify_all()
            return batch

    def _has_room(self, record: Record) -> bool:
        return self.empty or self.held_bytes + len(record.value) <= self._most_bytes

    def _batch(self) -> Iterator[Record]:
        left_bytes = BATCH_BYTES
        for taken in range(BATCH_RECORDS):
            if self.empty or (taken and len(self._records[0].value) > left_bytes):
                return
            record = self._records.popleft()
            self.held_bytes -= len(record.value)
            left_bytes -= len(record.value)
            yield record
