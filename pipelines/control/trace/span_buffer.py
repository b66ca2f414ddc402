"""Holds trace points until the others of their event had time to arrive. Pure."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from msgspec import Struct, field

from shared.contracts.tracing import TracePoint

MAX_POINTS: Final = 20_000
"""Most trace points in memory, about a kilobyte each."""

BATCH_TRACES: Final = 500
"""Most traces exported at a time."""

Partition = tuple[str, int]
"""Topic and partition."""


class Trace(Struct):
    """The trace points of one event."""

    since_ms: int
    """When its first trace point arrived, epoch milliseconds."""

    points: list[TracePoint] = field(default_factory=list)
    records: list[tuple[Partition, int]] = field(default_factory=list)
    """Partition and offset of each."""


class SpanBuffer:
    """Trace points by event, in order of the events' first ones."""

    def __init__(self, hold_ms: int) -> None:
        self._hold_ms = hold_ms
        self._traces: dict[tuple[str, str], Trace] = {}
        self._next: dict[Partition, int] = {}
        self._held = 0

    def take(self, partition: Partition, offset: int, point: TracePoint | None, now_ms: int) -> None:
        """Add a record's trace point; None for a record that cannot be decoded and is skipped."""
        self._next[partition] = offset + 1
        if point is not None:
            trace = self._traces.setdefault((point.tenant, point.id), Trace(now_ms))
            trace.points.append(point)
            trace.records.append((partition, offset))
            self._held += 1

    def due(self, now_ms: int) -> list[Trace]:
        """Events held long enough, BATCH_TRACES at most."""
        waited = takewhile(lambda trace: trace.since_ms + self._hold_ms <= now_ms, self._traces.values())
        return [trace for trace, _ in zip(waited, range(BATCH_TRACES), strict=False)]

    def done(self, traces: Iterable[Trace]) -> None:
        """Remove traces that were exported."""
        for trace in traces:
            first = trace.points[0]
            del self._traces[first.tenant, first.id]
            self._held -= len(trace.points)

    def positions(self) -> dict[Partition, int]:
        """For each partition the offset before which everything was exported."""
        found = dict(self._next)
        for trace in self._traces.values():
            for partition, offset in trace.records:
                found[partition] = min(found[partition], offset)
        return found

    def forget(self, partitions: Iterable[Partition]) -> None:
        """Drop partitions that were assigned to another member, which reads what was not exported again."""
        gone = set(partitions)
        self._next = {partition: offset for partition, offset in self._next.items() if partition not in gone}
        lost = [trace for trace in self._traces.values() if any(at in gone for at, _ in trace.records)]
        for trace in lost:
            first = trace.points[0]
            kept = [n for n, (at, _) in enumerate(trace.records) if at not in gone]
            self._held -= len(trace.records) - len(kept)
            trace.points = [trace.points[n] for n in kept]
            trace.records = [trace.records[n] for n in kept]
            if not kept:
                del self._traces[first.tenant, first.id]

    @property
    def full(self) -> bool:
        """Whether the buffer is full."""
        return self._held >= MAX_POINTS
