"""Which events are behind hashes, and exact differences where a sketch holds too many: from the records
themselves. Pure; the records are read by somebody else."""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final, NamedTuple

from msgspec import Struct

from pipelines.control.observe.ledger.minute_sums import MinuteState, Partition
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation, entries
from pipelines.control.observe.ledger.record_parser import ObservedEvent
from pipelines.control.observe.verdicts.verdicts import Judgement
from shared.contracts.iblt import id_hash
from shared.contracts.scorecard import NamedEvent

MOST_NAMED: Final = 100
"""Lost events of an account that are named, and as many doubled ones."""

_EXPLAINING: Final[Mapping[Reconciliation, tuple[Reconciliation, ...]]] = {
    Reconciliation.TRANSMIT: (Reconciliation.DROPPED, Reconciliation.UNSENDABLE),
    Reconciliation.RETRY: (Reconciliation.UNHOLDABLE,),
}
"""What has to be known as well, for an account's figures to be exact."""

_DOUBLED_BEFORE: Final = (
    Reconciliation.INGEST,
    Reconciliation.ROUTE,
    Reconciliation.CLAIMS,
    Reconciliation.RETRYING,
    Reconciliation.RETRY,
)
"""Their doubles need what transmit dropped."""


class OffsetSpan(NamedTuple):
    """Offsets to read: a `shared.kafka.offset_range_reader.OffsetRange` takes the same four."""

    topic: str
    partition: int
    start: int
    end: int
    """Behind the last."""


class ReadPlan(Struct, kw_only=True, frozen=True):
    """What to read for a minute's ids."""

    tenant: str
    minute: int
    wanted: Mapping[Key, Mapping[int, int]]
    """Hashes whose events are to be named."""

    recounted: frozenset[Key]
    """Accounts to count whole."""

    spans: tuple[OffsetSpan, ...]

    @property
    def records(self) -> int:
        """How many records at most."""
        return sum(span.end - span.start for span in self.spans)


class Identified(Struct, kw_only=True, frozen=True):
    """What reading brought."""

    named: Mapping[Key, tuple[NamedEvent, ...]] = {}
    counted: Mapping[Key, Mapping[int, int]] = {}
    """For `judge`: by account, how often each hash is missing (negative: too many)."""


def read_plan(state: MinuteState, judgement: Judgement) -> ReadPlan | None:
    """What to read; None if there is nothing to name. Once what was counted is known to `judge`, the next
    plan asks for names."""
    wanted = {key: _first(verdict.ids) for key, verdict in judgement.verdicts.items() if verdict.ids}
    recounted = _recounted(state, judgement.needs_reading)
    if not wanted and not recounted:
        return None
    return ReadPlan(
        tenant=state.tenant,
        minute=state.minute,
        wanted=wanted,
        recounted=recounted,
        spans=_spans(state, recounted | wanted.keys()),
    )


def _first(ids: Mapping[int, int]) -> Mapping[int, int]:
    """The ids to name of all."""
    lost = sorted(value for value, times in ids.items() if times > 0)
    doubled = sorted(value for value, times in ids.items() if times < 0)
    return {value: ids[value] for value in (*lost[:MOST_NAMED], *doubled[:MOST_NAMED])}


def _recounted(state: MinuteState, unread: Sequence[Key]) -> frozenset[Key]:
    """The accounts, and those without which their figures would not be exact."""
    needed = {
        other
        for key in unread
        for other in state.sketches
        if other.account in _explaining(key.account) and _near(key, other)
    }
    return frozenset(unread) | needed


def _explaining(account: Reconciliation) -> tuple[Reconciliation, ...]:
    return (*_EXPLAINING.get(account, ()), *((Reconciliation.DROPPED,) if account in _DOUBLED_BEFORE else ()))


def _near(key: Key, other: Key) -> bool:
    """Whether they are of the same pipe, as far as they are of one."""
    return not key.pipe or not other.pipe or key.pipe == other.pipe


def _spans(state: MinuteState, keys: Iterable[Key]) -> tuple[OffsetSpan, ...]:
    """Both sides of the accounts, each partition once."""
    accounts = frozenset(keys)
    found: dict[Partition, tuple[int, int]] = {}
    for (stage, name, _), line in state.lines.items():
        if not any(entry.key in accounts for entry in entries(stage, name)):
            continue
        for place, (first, last) in line.spans.items():
            start, end = found.get(place, (first, last + 1))
            found[place] = min(start, first), max(end, last + 1)
    return tuple(OffsetSpan(*place, *found[place]) for place in sorted(found))


def find(asked: ReadPlan, seen: Iterable[ObservedEvent]) -> Identified:
    """Names and counts from the records; those of other minutes, tenants or accounts are passed over."""
    told: dict[Key, dict[int, _Source]] = {key: {} for key in asked.wanted}
    counted: dict[Key, dict[int, int]] = {key: {} for key in asked.recounted}
    for event in seen:
        if (event.tenant, event.minute) != (asked.tenant, asked.minute):
            continue
        value = id_hash(event.id)
        for key, sign in entries(event.stage, event.name):
            if key in counted:
                counted[key][value] = counted[key].get(value, 0) + sign
            if key in told and (times := asked.wanted[key].get(value)):
                told[key][value] = _better(told[key].get(value), _Source(event, sign), times)
    return Identified(
        named={
            key: tuple(_named(value, asked.wanted[key][value], each.event) for value, each in found.items())
            for key, found in told.items()
        },
        counted={
            key: {value: times for value, times in found.items() if times} for key, found in counted.items()
        },
    )


class _Source(NamedTuple):
    """A record that tells an id, and on which side of the account it is."""

    event: ObservedEvent
    sign: int


def _better(known: _Source | None, found: _Source, times: int) -> _Source:
    """Which record to point at: the first that was taken of a lost event, the last copy of a doubled one.

    Where no such record is left, one of the other side tells the id as well.
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
