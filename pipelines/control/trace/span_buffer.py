"""Holds trace points until the others of their event had time to arrive. Pure."""

from collections.abc import Iterable
from itertools import count
from typing import Final

from msgspec import Struct, field

from shared.contracts.tracing import TracePoint

MAX_POINTS: Final = 20_000
"""Most trace points in memory, about a kilobyte each. At so many the oldest are exported early."""

BATCH_POINTS: Final = 2_000
"""Most trace points exported at a time, so most spans of a request, which takes a few megabytes."""

TRACE_POINTS: Final = 200
"""Most trace points of a trace; further ones of its event begin another. A client may use one id for all its
events, and the work for a trace grows with the square of its points."""

Partition = tuple[str, int]
"""Topic and partition."""


class Trace(Struct):
    """The trace points of one event."""

    number: int
    since_ms: int
    """When its first trace point arrived, epoch milliseconds."""

    points: list[TracePoint] = field(default_factory=list)
    records: list[tuple[Partition, int]] = field(default_factory=list)
    """Partition and offset of each."""


class SpanBuffer:
    """Trace points by event, in order of the events' first ones."""

    def __init__(self, hold_ms: int) -> None:
        self._hold_ms = hold_ms
        self._numbers = count()
        self._traces: dict[int, Trace] = {}
        """Traces by number, oldest first."""

        self._open: dict[tuple[str, str], Trace] = {}
        """The trace that takes an event's further trace points, by tenant and event."""

        self._next: dict[Partition, int] = {}
        self._held = 0

    def take(self, partition: Partition, offset: int, point: TracePoint | None, now_ms: int) -> None:
        """Add a record's trace point; None for a record that cannot be decoded and is skipped."""
        self._next[partition] = offset + 1
        if point is not None:
            trace = self._open.get(_event(point))
            if trace is None or len(trace.points) >= TRACE_POINTS:
                trace = self._begin(point, now_ms)
            trace.points.append(point)
            trace.records.append((partition, offset))
            self._held += 1

    def _begin(self, point: TracePoint, now_ms: int) -> Trace:
        trace = Trace(next(self._numbers), now_ms)
        self._traces[trace.number] = self._open[_event(point)] = trace
        return trace

    def due(self, now_ms: int) -> list[Trace]:
        """Traces held long enough, or the oldest ones if the buffer is full; at most BATCH_POINTS points."""
        found: list[Trace] = []
        room, full = BATCH_POINTS, self.full
        for trace in self._traces.values():
            room -= len(trace.points)
            if room < 0 or not (full or self._held_long_enough(trace, now_ms)):
                break
            found.append(trace)
        return found

    def _held_long_enough(self, trace: Trace, now_ms: int) -> bool:
        """Whether to release a trace; also one from the future, as the clock may have been set back."""
        return not now_ms - self._hold_ms < trace.since_ms <= now_ms

    def done(self, traces: Iterable[Trace]) -> None:
        """Remove traces that were exported."""
        for trace in traces:
            self._remove(trace, trace.points[0])
            self._held -= len(trace.points)

    def _remove(self, trace: Trace, point: TracePoint) -> None:
        del self._traces[trace.number]
        if self._open.get(_event(point)) is trace:
            del self._open[_event(point)]

    def positions(self) -> dict[Partition, int]:
        """The offset up to which everything was exported, by partition."""
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
                self._remove(trace, first)

    @property
    def full(self) -> bool:
        """Whether the buffer is full."""
        return self._held >= MAX_POINTS


def _event(point: TracePoint) -> tuple[str, str]:
    return point.tenant, point.id
