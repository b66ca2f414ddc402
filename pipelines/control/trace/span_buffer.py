"""Sightings held until the others of their event had time to come. Pure."""

from collections.abc import Iterable
from itertools import takewhile
from typing import Final

from msgspec import Struct, field

from shared.contracts.tracing import TracePoint

MAX_POINTS: Final = 20_000
"""Sightings held at once, each about a kilobyte."""

BATCH_TRACES: Final = 500
"""Events that are told at once."""

Partition = tuple[str, int]
"""Topic and partition."""


class Trace(Struct):
    """What is known of one event."""

    since_ms: int
    """When its first sighting came, epoch milliseconds."""

    sightings: list[TracePoint] = field(default_factory=list)
    records: list[tuple[Partition, int]] = field(default_factory=list)
    """Where they were read."""


class SpanBuffer:
    """Sightings by event, in the order in which the events were first heard of."""

    def __init__(self, hold_ms: int) -> None:
        self._hold_ms = hold_ms
        self._traces: dict[tuple[str, str], Trace] = {}
        self._next: dict[Partition, int] = {}
        self._held = 0

    def take(self, place: Partition, offset: int, sighting: TracePoint | None, now_ms: int) -> None:
        """What a record says; None if it cannot be read, and is passed over."""
        self._next[place] = offset + 1
        if sighting is not None:
            trace = self._traces.setdefault((sighting.tenant, sighting.id), Trace(now_ms))
            trace.sightings.append(sighting)
            trace.records.append((place, offset))
            self._held += 1

    def due(self, now_ms: int) -> list[Trace]:
        """The events that were held long enough, a portion at most."""
        waited = takewhile(lambda trace: trace.since_ms + self._hold_ms <= now_ms, self._traces.values())
        return [trace for trace, _ in zip(waited, range(BATCH_TRACES), strict=False)]

    def done(self, traces: Iterable[Trace]) -> None:
        """These were told."""
        for trace in traces:
            first = trace.sightings[0]
            del self._traces[first.tenant, first.id]
            self._held -= len(trace.sightings)

    def positions(self) -> dict[Partition, int]:
        """The offset of each partition before which all was told."""
        found = dict(self._next)
        for trace in self._traces.values():
            for place, offset in trace.records:
                found[place] = min(found[place], offset)
        return found

    def forget(self, places: Iterable[Partition]) -> None:
        """These partitions are another member's: it reads again what was not told."""
        gone = set(places)
        self._next = {place: offset for place, offset in self._next.items() if place not in gone}
        lost = [trace for trace in self._traces.values() if any(at in gone for at, _ in trace.records)]
        for trace in lost:
            first = trace.sightings[0]
            kept = [n for n, (at, _) in enumerate(trace.records) if at not in gone]
            self._held -= len(trace.records) - len(kept)
            trace.sightings = [trace.sightings[n] for n in kept]
            trace.records = [trace.records[n] for n in kept]
            if not kept:
                del self._traces[first.tenant, first.id]

    @property
    def full(self) -> bool:
        """Whether no more is to be read."""
        return self._held >= MAX_POINTS
