"""The first records of one partition of a retry topic, in order. Pure: no broker, no clock."""

from collections import deque
from itertools import islice, takewhile
from typing import Final

from pipelines.data.retry.decide import DelayedRecord
from pipelines.data.retry.drain_rate import DrainRate, next_interval, reset
from shared.contracts.retry_times import delay_ms
from shared.contracts.topics import Topic

MAX_RECORDS: Final = 5_000
MAX_BYTES: Final = 8 * 1024 * 1024
"""Kept in memory per partition; the rest stays with the brokers."""

MAX_WRITE_RECORDS: Final = 1_000
"""Records of a partition that may be written before they are acknowledged."""


class DelayQueue:
    """A first-in, first-out queue that releases no record before it is due.

    A record that is due waits for those before it. No record is due later than its topic's delay after it was
    written, so none waits longer than that delay for those before it, and then for the drain rate. One that
    would be due later than that from now has its time from a clock that was set back since: it is due.
    """

    def __init__(self, topic: Topic, spread: float) -> None:
        """`spread` is the share of the topic's delay over which a burst is spread."""
        self._delay_ms = delay_ms(topic)
        self._span_ms = spread * self._delay_ms
        self._records: deque[DelayedRecord] = deque()
        self._bytes = 0
        self._rate = DrainRate()

    def __len__(self) -> int:
        return len(self._records)

    @property
    def full(self) -> bool:
        """Whether reading should pause."""
        return len(self._records) >= MAX_RECORDS or self._bytes >= MAX_BYTES

    @property
    def low(self) -> bool:
        """Whether reading should resume, before the queue runs empty."""
        return len(self._records) <= MAX_RECORDS // 2 and self._bytes <= MAX_BYTES // 2

    @property
    def first(self) -> int | None:
        """Offset of the first record in the queue."""
        return self._records[0].offset if self._records else None

    def add(self, record: DelayedRecord) -> None:
        """Add the next record of the partition."""
        self._records.append(record)
        self._bytes += record.size

    def due(self, now_ms: int, waiting: int) -> list[DelayedRecord]:
        """The records to write now, in order; they stay in the queue until `remove_first`.

        Args:
            now_ms: epoch milliseconds.
            waiting: records of the partition that are not written yet, those still with the brokers included.
        """
        if not self._is_due(now_ms):
            self._rate = reset(self._rate)
            return []
        self._rate = next_interval(self._rate, max(waiting, len(self)), self._span_ms, now_ms)
        front = islice(self._records, max(0, min(MAX_WRITE_RECORDS, self._rate.left)))
        return list(takewhile(lambda record: self._may_leave(record, now_ms), front))

    def remove_first(self, records: int) -> None:
        """Remove the first records once they were written."""
        self._rate = self._rate.spend(records)
        for _ in range(records):
            self._bytes -= self._records.popleft().size

    def wake_ms(self, now_ms: int) -> int | None:
        """When to call `due` next, epoch milliseconds, possibly in the past; None if the queue is empty."""
        if not self._records:
            return None
        if not self._is_due(now_ms):
            return self._records[0].due_ms
        return self._rate.until_ms if self._rate.left <= 0 else now_ms

    def _is_due(self, now_ms: int) -> bool:
        return bool(self._records) and self._may_leave(self._records[0], now_ms)

    def _may_leave(self, record: DelayedRecord, now_ms: int) -> bool:
        return not now_ms < record.due_ms <= now_ms + self._delay_ms
