"""A simulated chain in memory: records of its topics, with deliberate losses and doubles."""

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from itertools import pairwise
from typing import Final, NamedTuple

import numpy as np

from pipelines.control.observe.ledger.record_parser import ObservedEvent, Record
from pipelines.control.observe.ledger.watermarks import WRITING, Watermark
from pipelines.control.observe.verdicts.event_identification import OffsetSpan
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.event_hash import id_hash
from shared.contracts.lag_histogram import histogram
from shared.contracts.ledger import Range, Stage, Tally, with_ids
from shared.contracts.topics import Topic

MINUTE: Final = 29_000_000
MINUTE_START: Final = MINUTE * 60_000
SETTLE: Final = 180_000
LATER: Final = MINUTE_START + 3_600_000
"""A time long after everything."""

TENANT: Final = "acme"
PARTITIONS: Final = 2

LAGS: Final[Mapping[Stage, int]] = {
    Stage.COLLECTED: 20,
    Stage.EVENTS: 50,
    Stage.UNMATCHED: 90,
    Stage.FIRST: 100,
    Stage.FURTHER: 100,
    Stage.CLAIMED: 100,
    Stage.LETTER: 100,
    Stage.RETRIED: 30_000,
}
"""Milliseconds from the event's time to its record; 200 for other stages."""


class Event(NamedTuple):
    """An event in a record."""

    stage: Stage
    name: str
    id: str
    tenant: str = TENANT
    minute: int = MINUTE
    destination: str = ""
    late: bool = False
    good: bool = True
    lag_ms: int | None = None
    replayed: bool = False

    @property
    def lag(self) -> int:
        return LAGS.get(self.stage, 200) if self.lag_ms is None else self.lag_ms


Outcomes = Callable[[str, str], str]
"""By id and pipe: `delivered`, `slow`, `retried`, `waiting`, `dead`."""


Cuts = Callable[[tuple[str, int], int], Iterable[int]]
"""By partition and its end, the offsets to cut at."""


def delivered(_id: str, _pipe: str) -> str:
    return "delivered"


def slow(_id: str, _pipe: str) -> str:
    return "slow"


@dataclass
class World:
    """`lost` and `doubled` name records by stage, name and id; each of them is lost, or doubled, once."""

    lost: set[tuple[Stage, str, str]] = field(default_factory=set)
    doubled: set[tuple[Stage, str, str]] = field(default_factory=set)
    remembers: bool = True
    """Whether transmit recognises second copies."""

    forgets: frozenset[str] = frozenset()
    """Pipes for which it does not recognise second copies."""

    topics: dict[tuple[str, int], list[list[Event]]] = field(default_factory=dict)

    def send(
        self,
        ids: Iterable[str],
        pipes: Sequence[str] = ("p1",),
        outcomes: Outcomes = delivered,
        *,
        minute: int = MINUTE,
        tenant: str = TENANT,
        late: bool = False,
    ) -> "World":
        """Send events through the whole chain; without pipes they are unmatched."""
        of = _Of(tenant, minute, late)
        collected = [self._write(Topic.COLLECTED, of.event(Stage.COLLECTED, "web", i)) for i in ids]
        events = self._through(Topic.EVENTS, [of.event(Stage.EVENTS, "", e.id) for e in collected])
        if not pipes:
            self._through(Topic.UNMATCHED, [of.event(Stage.UNMATCHED, "", e.id) for e in events])
        outbound = self._through(
            Topic.OUTBOUND,
            [
                of.event(Stage.FURTHER if at else Stage.FIRST, pipe, e.id)
                for e in events
                for at, pipe in enumerate(pipes)
            ],
            lambda e: [of.event(Stage.CLAIMED, p, e.id) for p in pipes[1:] if e.stage is Stage.FIRST],
        )
        self._transmit(of, outbound, outcomes)
        return self

    def process_again(
        self, ids: Iterable[str], pipes: Sequence[str] = ("p1",), outcomes: Outcomes = slow
    ) -> "World":
        """Send the minute's events through the chain a second time, as after a rollback with a replay."""
        of = _Of(TENANT, MINUTE, False, True)
        events = self._through(Topic.EVENTS, [of.event(Stage.EVENTS, "", i) for i in ids])
        if not pipes:
            self._through(Topic.UNMATCHED, [of.event(Stage.UNMATCHED, "", e.id) for e in events])
        stages = [(Stage.FURTHER if at else Stage.FIRST, pipe) for at, pipe in enumerate(pipes)]
        outbound = self._through(
            Topic.OUTBOUND,
            [of.event(stage, pipe, e.id) for e in events for stage, pipe in stages],
            lambda e: [of.event(Stage.CLAIMED, p, e.id) for p in pipes[1:] if e.stage is Stage.FIRST],
        )
        self._transmit(of, outbound, outcomes)
        return self

    def _transmit(self, of: "_Of", taken: Iterable[Event], outcomes: Outcomes) -> None:
        known: set[tuple[str, str]] = set()
        for copy in taken:
            if (copy.id, copy.name) in known and self.remembers and copy.name not in self.forgets:
                self._receipt(of, Stage.DROPPED, copy)
                continue
            known.add((copy.id, copy.name))
            outcome = outcomes(copy.id, copy.name)
            if outcome in ("delivered", "slow"):
                self._receipt(of, Stage.DELIVERED, copy, good=outcome == "delivered")
            elif outcome == "dead":
                self._receipt(of, Stage.DEAD, copy)
                self._through(Topic.DEAD_LETTER, [of.event(Stage.DEAD_LETTER, copy.name, copy.id)])
            else:
                self._retry(of, copy, outcome)

    def _retry(self, of: "_Of", copy: Event, outcome: str) -> None:
        self._receipt(of, Stage.RETRYING, copy)
        waiting = self._through(Topic.RETRY_IN_30S, [of.event(Stage.WAITING, copy.name, copy.id)])
        if outcome == "retried":
            again = [of.event(Stage.RETRIED, each.name, each.id) for each in waiting]
            known = False
            for each in self._through(Topic.RETRY_OUT, again):
                if known and self.remembers:
                    self._receipt(of, Stage.DROPPED, each)
                else:
                    self._receipt(of, Stage.DELIVERED, each, good=False)
                known = True

    def _receipt(self, of: "_Of", stage: Stage, copy: Event, good: bool = False) -> None:
        event = of.event(stage, copy.name, copy.id, f"to-{copy.name}", good=good)
        self._through(Topic.RECEIPTS, [event])

    def _through(
        self,
        topic: Topic,
        events: Iterable[Event],
        claims: Callable[[Event], list[Event]] = lambda _: [],
    ) -> list[Event]:
        """Write the records, lost and doubled as configured; returns those that can be read."""
        written = [each for event in events for each in [event] * self._times(event)]
        for event in written:
            self._write(topic, event, *claims(event))
        return written

    def _times(self, event: Event) -> int:
        if not self.lost and not self.doubled:
            return 1
        key = (event.stage, event.name, event.id)
        times = 1 - (key in self.lost) + (key in self.doubled)
        self.lost.discard(key)
        self.doubled.discard(key)
        return times

    def quarantine(self, topic: Topic, event: Event) -> None:
        """Add a record that a node could not read."""
        self._write(Topic.QUARANTINE, event._replace(stage=Stage.QUARANTINED, name=topic))

    def letter(self, pipe: str, event_id: str, becomes: Stage = Stage.DELIVERED) -> None:
        """Replay a dead letter."""
        of = _Of(TENANT, MINUTE, False)
        copy = of.event(Stage.LETTER, pipe, event_id)
        self._write(Topic.OUTBOUND, copy)
        self._receipt(of, becomes, copy)

    def _write(self, topic: Topic, *events: Event) -> Event:
        place = (topic.value, id_hash(events[0].id) % PARTITIONS)
        self.topics.setdefault(place, []).append(list(events))
        return events[0]

    @property
    def ends(self) -> Mapping[tuple[str, int], int]:
        return {place: len(records) for place, records in self.topics.items()}

    def ranges(
        self, cuts: Callable[[tuple[str, int], int], Iterable[int]] = lambda _p, _n: ()
    ) -> list[Range]:
        """Audit's ranges, each partition split as `cuts` says, in order within a partition."""
        found = []
        for place, records in self.topics.items():
            bounds = sorted(
                {0, len(records), *(c for c in cuts(place, len(records)) if 0 < c < len(records))}
            )
            found += [self.tallied(place, start, end) for start, end in pairwise(bounds)]
        return found

    def tallied(self, place: tuple[str, int], start: int, end: int) -> Range:
        """The range of a partition."""
        groups: dict[tuple[object, ...], list[tuple[int, Event]]] = {}
        for offset in range(start, end):
            for event in self.topics[place][offset]:
                whose = (event.stage, event.tenant, event.minute, event.name)
                group = (*whose, event.destination, event.replayed)
                groups.setdefault(group, []).append((offset, event))
        return Range(
            topic=Topic(place[0]),
            partition=place[1],
            start=start,
            end=end,
            newest_ms=MINUTE_START + end,
            tallies=[tally(found) for found in groups.values()],
        )

    def seen(self) -> Iterator[ObservedEvent]:
        """The records that a reader of all topics sees."""
        for (topic, partition), end in self.ends.items():
            yield from self.seen_in(OffsetSpan(topic, partition, 0, end))

    def seen_in(self, span: OffsetSpan) -> Iterator[ObservedEvent]:
        """The records that a reader of these offsets sees."""
        topic, partition, start, end = span
        for offset, events in enumerate(self.topics[topic, partition][start:end], start):
            record = Record(topic, partition, offset, 0, [], None)
            for e in events:
                of = (e.stage, e.id, e.tenant, e.minute, e.name, e.destination)
                yield ObservedEvent(record, *of, replayed=e.replayed)

    def passed(self, at_ms: int = LATER - SETTLE, nodes: Iterable[str] | None = None) -> ReadProgress:
        """All nodes have finished everything since `at_ms`, and audit has read all of it."""
        every = ("ingest", "route", "transmit", WRITING, "retry")
        mark = Watermark(at_ms, dict(self.ends))
        return ReadProgress(marks=dict.fromkeys(every if nodes is None else nodes, (mark,)), read_to_ms=at_ms)


class _Of(NamedTuple):
    tenant: str
    minute: int
    late: bool
    replayed: bool = False

    def event(
        self, stage: Stage, name: str, event_id: str, destination: str = "", *, good: bool = True
    ) -> Event:
        whose = (self.tenant, self.minute, destination, self.late)
        return Event(stage, name, event_id, *whose, good, None, self.replayed)


def tally(found: Sequence[tuple[int, Event]]) -> Tally:
    """A tally as audit makes it."""
    events = [event for _, event in found]
    first, stage = events[0], events[0].stage
    lags = np.array([event.lag for event in events], np.int64)
    receipt = bool(first.destination)
    bare = Tally(
        stage=stage,
        tenant=first.tenant,
        minute=first.minute,
        name=first.name,
        destination=first.destination,
        replayed=first.replayed,
        count=len(events),
        late=sum(event.late for event in events),
        lag_in=histogram(lags - 5) if stage is Stage.COLLECTED else {},
        lag_out=histogram(lags),
        inside=histogram(lags - 10) if stage is Stage.DELIVERED else {},
        good=sum(event.good for event in events) if stage is Stage.DELIVERED else 0,
        due_ms=MINUTE_START + 90_000 if stage is Stage.WAITING else 0,
        reasons={"503 refused": len(events)} if stage in (Stage.RETRYING, Stage.DEAD) else {},
        breaker="closed" if receipt else "",
        lane="fast" if receipt else "",
        first=found[0][0],
        last=found[-1][0],
        first_ms=first.minute * 60_000 + int(lags.min()),
        last_ms=first.minute * 60_000 + int(lags.max()),
    )
    hashes = [id_hash(event.id) for event in events if event.id]
    return with_ids(bare, np.array(hashes, np.uint64))
