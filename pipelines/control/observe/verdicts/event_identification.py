"""Names lost and doubled events from the records, and counts exactly where a sketch cannot. Pure.

`event_resolver` reads the records.
"""

from collections.abc import Collection, Iterable, Mapping, Sequence
from typing import Final, NamedTuple

import msgspec
from msgspec import Struct

from pipelines.control.observe.ledger.minute_sums import MinuteState, Partition
from pipelines.control.observe.ledger.reconciliation_rules import (
    DOUBLED_BEFORE_TRANSMIT,
    Key,
    Reconciliation,
    entries,
)
from pipelines.control.observe.ledger.record_parser import ObservedEvent
from pipelines.control.observe.verdicts.second_copies import COPIES, CopiesByHash
from pipelines.control.observe.verdicts.set_differences import RecordCounts
from pipelines.control.observe.verdicts.verdicts import Judgement
from shared.contracts.event_hash import id_hash
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import NamedEvent

MOST_NAMED: Final = 100
"""Most lost events of a reconciliation that are named, and most doubled ones."""

_EXPLAINING: Final[Mapping[Reconciliation, tuple[Reconciliation, ...]]] = {
    Reconciliation.TRANSMIT: (Reconciliation.DROPPED, Reconciliation.UNSENDABLE),
    Reconciliation.RETRY: (Reconciliation.UNHOLDABLE,),
}
"""Reconciliations that must be counted too, so that a reconciliation's figures are exact."""

_BEFORE_PIPES: Final = (Reconciliation.INGEST, Reconciliation.ROUTE)
"""Reconciliations of events that have no pipe yet: one that is doubled there has second copies in several."""


class OffsetSpan(NamedTuple):
    """Offsets to read, with the fields of `shared.kafka.offset_range_reader.OffsetRange`."""

    topic: str
    partition: int
    start: int
    end: int
    """One past the last offset."""


class ReadPlan(Struct, kw_only=True, frozen=True):
    """The offsets to read in order to name a minute's events."""

    tenant: str
    minute: int
    wanted: Mapping[Key, Mapping[int, int]]
    """Hashes of the events to name, by reconciliation."""

    recounted: frozenset[Key]
    """Reconciliations to count completely."""

    copied: frozenset[int] = frozenset()
    """Hashes of the events of which the copies are to be counted by pipe."""

    spans: tuple[OffsetSpan, ...]
    smaller: "ReadPlan | None" = None
    """The plan to fall back to if a minute has too many records: first without counting copies, then without
    naming events, with a single reconciliation. The next plan counts another one."""

    @property
    def records(self) -> int:
        """Most records that the plan reads."""
        return sum(span.end - span.start for span in self.spans)


class Identified(Struct, kw_only=True, frozen=True):
    """Findings from the records: named events, and counts by hash."""

    named: Mapping[Key, tuple[NamedEvent, ...]] = {}
    counted: Mapping[Key, Mapping[int, int]] = {}
    """How often each hash is missing (negative: too often), by reconciliation."""

    copies: CopiesByHash = {}
    """Copies of events that ingest or route doubled; earlier versions did not count them."""

    @property
    def counts(self) -> RecordCounts:
        """The counts that `verdicts.judge` takes."""
        return RecordCounts(self.counted, self.copies)


def read_plan(state: MinuteState, judgement: Judgement) -> ReadPlan | None:
    """The plan for a minute; None if there is nothing to name.

    A plan that counts is followed by one that names, once `verdicts.judge` has used the counts.
    """
    wanted = {key: _first(verdict.ids) for key, verdict in judgement.verdicts.items() if verdict.ids}
    recounted = _recounted(state, judgement.needs_reading)
    if not wanted and not recounted:
        return None
    plan = ReadPlan(
        tenant=state.tenant,
        minute=state.minute,
        wanted=wanted,
        recounted=recounted,
        spans=_spans(state, recounted | wanted.keys(), frozenset()),
        smaller=_count_of_one(state, judgement) if recounted else None,
    )
    copied = _copied(judgement)
    if not copied:
        return plan
    spans = _spans(state, recounted | wanted.keys(), COPIES)
    return msgspec.structs.replace(plan, copied=copied, spans=spans, smaller=plan)


def _count_of_one(state: MinuteState, judgement: Judgement) -> ReadPlan:
    """Count only the first reconciliation that needs it, so that even a busy minute can prove no loss."""
    recounted = _recounted(state, judgement.needs_reading[:1])
    return ReadPlan(
        tenant=state.tenant,
        minute=state.minute,
        wanted={},
        recounted=recounted,
        spans=_spans(state, recounted, frozenset()),
    )


def _copied(judgement: Judgement) -> frozenset[int]:
    """The hashes of events that were doubled before they had a pipe."""
    before = [verdict for key, verdict in judgement.verdicts.items() if key.reconciliation in _BEFORE_PIPES]
    return frozenset(value for verdict in before for value, times in verdict.ids.items() if times < 0)


def within(plan: ReadPlan, most: int) -> ReadPlan | None:
    """The plan, or the largest of its smaller ones, that reads at most so many records; None if none does."""
    if plan.records <= most:
        return plan
    return None if plan.smaller is None else within(plan.smaller, most)


def _first(ids: Mapping[int, int]) -> Mapping[int, int]:
    """The hashes to name, at most MOST_NAMED of each sign."""
    lost = sorted(value for value, times in ids.items() if times > 0)
    doubled = sorted(value for value, times in ids.items() if times < 0)
    return {value: ids[value] for value in (*lost[:MOST_NAMED], *doubled[:MOST_NAMED])}


def _recounted(state: MinuteState, unread: Sequence[Key]) -> frozenset[Key]:
    """The reconciliations to count, with those that they depend on."""
    needed = {
        other
        for key in unread
        for other in state.sketches
        if other.reconciliation in _explaining(key.reconciliation) and _near(key, other)
    }
    return frozenset(unread) | needed


def _explaining(reconciliation: Reconciliation) -> tuple[Reconciliation, ...]:
    dropped = (Reconciliation.DROPPED,) if reconciliation in DOUBLED_BEFORE_TRANSMIT else ()
    return (*_EXPLAINING.get(reconciliation, ()), *dropped)


def _near(key: Key, other: Key) -> bool:
    """Whether two reconciliations are of the same pipe; one that is not kept by pipe matches any."""
    return not key.pipe or not other.pipe or key.pipe == other.pipe


def _spans(state: MinuteState, keys: Iterable[Key], stages: Collection[Stage]) -> tuple[OffsetSpan, ...]:
    """Offsets of both sides of the reconciliations, and of some stages; each partition once."""
    reconciliations = frozenset(keys)
    found: dict[Partition, tuple[int, int]] = {}
    for (stage, name, _), line in state.lines.items():
        if stage not in stages and not any(entry.key in reconciliations for entry in entries(stage, name)):
            continue
        for place, (first, last) in line.spans.items():
            start, end = found.get(place, (first, last + 1))
            found[place] = min(start, first), max(end, last + 1)
    return tuple(OffsetSpan(*place, *found[place]) for place in sorted(found))


def find(asked: ReadPlan, seen: Iterable[ObservedEvent]) -> Identified:
    """Names and counts from the records; records of other minutes, tenants or reconciliations are skipped,
    and those of events that were processed again, which have reconciliations of their own."""
    sources: dict[Key, dict[int, _Source]] = {key: {} for key in asked.wanted}
    counted: dict[Key, dict[int, int]] = {key: {} for key in asked.recounted}
    copies: dict[int, dict[str, int]] = {value: {} for value in asked.copied}
    for event in seen:
        if event.replayed or (event.tenant, event.minute) != (asked.tenant, asked.minute):
            continue
        value = id_hash(event.id)
        if value in copies and event.stage in COPIES:
            copies[value][event.name] = copies[value].get(event.name, 0) + 1
        for key, sign in entries(event.stage, event.name):
            if key in counted:
                counted[key][value] = counted[key].get(value, 0) + sign
            if key in sources and (times := asked.wanted[key].get(value)):
                sources[key][value] = _better(sources[key].get(value), _Source(event, sign), times)
    return Identified(
        named={
            key: tuple(_named(value, asked.wanted[key][value], each.event) for value, each in found.items())
            for key, found in sources.items()
        },
        counted={
            key: {value: times for value, times in found.items() if times} for key, found in counted.items()
        },
        copies=copies,
    )


def combined(before: Identified, found: Identified) -> Identified:
    """Both findings; names and copies stay, because records that are read again may have expired."""
    return Identified(
        named={
            key: _by_hash(*before.named.get(key, ()), *found.named.get(key, ()))
            for key in {**before.named, **found.named}
        },
        counted={**before.counted, **found.counted},
        copies={
            value: _most(before.copies.get(value, {}), found.copies.get(value, {}))
            for value in {**before.copies, **found.copies}
        },
    )


def _most(before: Mapping[str, int], found: Mapping[str, int]) -> Mapping[str, int]:
    return {pipe: max(before.get(pipe, 0), found.get(pipe, 0)) for pipe in {**before, **found}}


def _by_hash(*events: NamedEvent) -> tuple[NamedEvent, ...]:
    """The last of each hash."""
    return tuple({event.hash: event for event in events}.values())


class _Source(NamedTuple):
    """A record with the id, and on which side of the reconciliation it counts."""

    event: ObservedEvent
    sign: int


def _better(known: _Source | None, found: _Source, times: int) -> _Source:
    """The record to show: the first on the input side for a lost event, the last copy of a doubled one.

    If none is left there, a record of the other side gives the id as well.
    """
    if known is None or (known.sign * times < 0 < found.sign * times):
        return found
    return found if times < 0 and found.sign < 0 else known


def _named(value: int, times: int, event: ObservedEvent) -> NamedEvent:
    return NamedEvent(
        hash=f"{value:016x}",
        times=times,
        id=event.id,
        topic=event.record.topic,
        partition=event.record.partition,
        offset=event.record.offset,
    )
