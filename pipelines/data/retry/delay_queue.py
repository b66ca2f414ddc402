"""One partition of a waiting topic: the records at its front, in order. Knows no broker and no clock."""

from collections import deque
from itertools import islice, takewhile
from typing import Final

from pipelines.data.retry.decide import Held, delay_ms
from pipelines.data.retry.drain_rate import Pace, beat, rest
from shared.contracts.topics import Topic

MOST_RECORDS: Final = 5_000
MOST_BYTES: Final = 8 * 1024 * 1024
"""Held in memory; the rest of a partition stays with the brokers."""

RUN: Final = 1_000
"""Records of a lane written before their acknowledgement is awaited."""


class Lane:
    """Takes records in the order of their offsets and gives them out in that order, none before it is due.

    A record that is due waits for those before it. As none is due later than its topic's delay after it was
    written, none waits longer than that delay for its turn, and then for the pace.
    """

    def __init__(self, topic: Topic, spread: float) -> None:
        """`spread` is the share of the topic's delay over which a burst is drawn out."""
        self._span_ms = spread * delay_ms(topic)
        self._held: deque[Held] = deque()
        self._bytes = 0
        self._pace = Pace()

    def __len__(self) -> int:
        return len(self._held)

    @property
    def full(self) -> bool:
        """Whether no more should be read for now."""
        return len(self._held) >= MOST_RECORDS or self._bytes >= MOST_BYTES

    @property
    def low(self) -> bool:
        """Whether reading should go on, in time for it not to run dry."""
        return len(self._held) <= MOST_RECORDS // 2 and self._bytes <= MOST_BYTES // 2

    @property
    def first(self) -> int | None:
        """Offset of the first record held."""
        return self._held[0].offset if self._held else None

    def take(self, held: Held) -> None:
        """Add the next record of the partition."""
        self._held.append(held)
        self._bytes += held.size

    def due(self, now_ms: int, waiting: int) -> list[Held]:
        """The records to write now, first to last; they stay until `done`.

        Args:
            now_ms: epoch milliseconds.
            waiting: records of the partition that have not left, those still with the brokers included.
        """
        if not self._is_due(now_ms):
            self._pace = rest(self._pace)
            return []
        self._pace = beat(self._pace, max(waiting, len(self)), self._span_ms, now_ms)
        front = islice(self._held, max(0, min(RUN, self._pace.left)))
        return list(takewhile(lambda held: held.due_ms <= now_ms, front))

    def done(self, records: int) -> None:
        """Forget the first records: they are where they belong."""
        self._pace = self._pace.spend(records)
        for _ in range(records):
            self._bytes -= self._held.popleft().size

    def wake_ms(self, now_ms: int) -> int | None:
        """When to look again, epoch milliseconds, a past moment for at once; None: when a record came."""
        if not self._held:
            return None
        if self._is_due(now_ms) and self._pace.left <= 0:
            return self._pace.until_ms
        return self._held[0].due_ms

    def _is_due(self, now_ms: int) -> bool:
        return bool(self._held) and self._held[0].due_ms <= now_ms
