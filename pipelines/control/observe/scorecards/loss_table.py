"""The loss table of a minute: a row for each hop. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec

from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.ledger.reconciliation_rules import Key, Reconciliation
from pipelines.control.observe.verdicts.event_identification import MOST_NAMED
from pipelines.control.observe.verdicts.verdicts import Judgement, Verdict
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import HopRow, NamedEvent, Node
from shared.contracts.topics import RETRY_DELAYS, Topic

Names = Mapping[Key, tuple[NamedEvent, ...]]
"""The events that were identified as lost or doubled, by reconciliation."""

NO_NAMES: Final[Names] = {}

_EVEN: Final = Verdict()
_NODES: Final = tuple(Node)


def hop_rows(state: MinuteState, judgement: Judgement, names: Names) -> list[HopRow]:
    """The rows of one tenant's minute, by hop; a pipe without events at a hop has no row there."""
    first = [*_Rows(state, judgement, names).all()]
    if state.replay is None or judgement.replay is None:
        return first
    second = {(row.node, row.pipe): row for row in _Rows(state.replay, judgement.replay, NO_NAMES).all()}
    hops = [(row, second.pop((row.node, row.pipe), _unseen(row))) for row in first]
    hops += [(_unseen(row), row) for row in second.values()]
    return [_with_replay(row, again, whole=state.replayed_whole) for row, again in hops]


def _unseen(row: HopRow) -> HopRow:
    """A hop that no event of the other pass came to."""
    return HopRow(node=row.node, pipe=row.pipe, taken=0, given=0)


def _with_replay(row: HopRow, again: HopRow, *, whole: bool) -> HopRow:
    """A row of the first pass with the second one's; if that is `whole`, it alone says what became of all."""
    kept = _unseen(row) if whole else row
    lost = kept.lost + again.lost
    doubled = [event for event in row.named if event.times < 0]
    return msgspec.structs.replace(
        row,
        replayed=again.given,
        lost=lost,
        lost_percent=percent(lost, row.taken),
        doubled=row.doubled + again.doubled,
        under_way=kept.under_way + again.under_way,
        waiting=kept.waiting + again.waiting,
        dead=kept.dead + again.dead,
        dropped=row.dropped + again.dropped,
        quarantined=row.quarantined + again.quarantined,
        named=[*(doubled if whole else row.named), *again.named],
        unnamed=kept.unnamed or again.unnamed,
        look_at=[*(row.look_at if kept.lost or row.doubled else []), *again.look_at],
    )


def merged_rows(rows: Iterable[HopRow]) -> list[HopRow]:
    """Rows of several minutes or tenants, summed by node, tenant and pipe."""
    by_hop: dict[tuple[Node, str, str], list[HopRow]] = {}
    for row in rows:
        by_hop.setdefault((row.node, row.tenant, row.pipe), []).append(row)
    order = sorted(by_hop, key=lambda hop: (_NODES.index(hop[0]), *hop[1:]))
    return [_merged(by_hop[hop]) for hop in order]


def _merged(rows: Sequence[HopRow]) -> HopRow:
    if len(rows) == 1:
        return rows[0]
    taken, lost = sum(row.taken for row in rows), sum(row.lost for row in rows)
    named = [event for row in rows for event in row.named]
    shown = [*_first(named, 1), *_first(named, -1)]
    return HopRow(
        node=rows[0].node,
        pipe=rows[0].pipe,
        tenant=rows[0].tenant,
        taken=taken,
        given=sum(row.given for row in rows),
        lost=lost,
        doubled=sum(row.doubled for row in rows),
        under_way=sum(row.under_way for row in rows),
        waiting=sum(row.waiting for row in rows),
        dropped=sum(row.dropped for row in rows),
        dead=sum(row.dead for row in rows),
        replayed=sum(row.replayed for row in rows),
        events=sum(row.events for row in rows),
        good=sum(row.good for row in rows),
        quarantined=sum(row.quarantined for row in rows),
        lost_percent=percent(lost, taken),
        named=shown,
        unnamed=any(row.unnamed for row in rows) or len(shown) < len(named),
        look_at=[place for row in rows for place in row.look_at],
    )


def percent(part: int, whole: int) -> float:
    """Percentage of `part` in the greater of `part` and `whole`; 0 if both are 0."""
    return 100 * part / max(part, whole) if part else 0.0


def _first(named: Sequence[NamedEvent], sign: int) -> list[NamedEvent]:
    return [event for event in named if event.times * sign > 0][:MOST_NAMED]


class _Rows:
    """Builds the rows of one minute."""

    def __init__(self, state: MinuteState, judgement: Judgement, names: Names) -> None:
        self._state, self._judgement, self._names = state, judgement, names
        self._count = state.count

    def all(self) -> Iterator[HopRow]:
        yield self._ingest()
        yield self._route()
        pipes = sorted({name for stage, name, _ in self._state.lines if stage in _OF_A_PIPE})
        for rows in (self._further, self._transmit, self._retry):
            yield from (row for pipe in pipes for row in rows(pipe))
            if rows == self._transmit:
                yield from self._unclaimed(Node.TRANSMIT, Reconciliation.TRANSMIT, _READ_BY_TRANSMIT)
        yield from self._unclaimed(Node.RETRY, Reconciliation.RETRY, tuple(RETRY_DELAYS))

    def _ingest(self) -> HopRow:
        taken, given = self._count(Stage.COLLECTED), self._count(Stage.EVENTS)
        row = HopRow(
            node=Node.INGEST,
            taken=taken,
            given=given,
            quarantined=self._count(Stage.QUARANTINED, Topic.COLLECTED),
        )
        return self._judged(row, (Key(Reconciliation.INGEST),))

    def _route(self) -> HopRow:
        row = HopRow(
            node=Node.ROUTE,
            taken=self._count(Stage.EVENTS),
            given=self._count(Stage.UNMATCHED) + self._count(Stage.FIRST),
            quarantined=self._count(Stage.QUARANTINED, Topic.EVENTS),
        )
        return self._judged(row, (Key(Reconciliation.ROUTE),))

    def _further(self, pipe: str) -> Iterator[HopRow]:
        """The row for a pipe's further copies."""
        claimed, given = self._count(Stage.CLAIMED, pipe), self._count(Stage.FURTHER, pipe)
        if claimed or given:
            row = HopRow(node=Node.ROUTE, pipe=pipe, taken=claimed, given=given)
            yield self._judged(row, (Key(Reconciliation.CLAIMS, pipe),))

    def _transmit(self, pipe: str) -> Iterator[HopRow]:
        taken = sum(self._count(stage, pipe) for stage in Key(Reconciliation.TRANSMIT).balance.plus)
        given = sum(self._count(stage, pipe) for stage in Key(Reconciliation.TRANSMIT).balance.minus)
        if not taken and not given:
            return
        keys = [
            Key(reconciliation, pipe)
            for reconciliation in (Reconciliation.TRANSMIT, Reconciliation.RETRYING, Reconciliation.DEAD)
        ]
        row = HopRow(
            node=Node.TRANSMIT,
            pipe=pipe,
            taken=taken,
            given=given,
            dropped=self._count(Stage.DROPPED, pipe),
            dead=dead(self._state, pipe),
            events=self._events(pipe),
            good=sum(line.good for line in self._state.of((Stage.DELIVERED,), pipe)),
            quarantined=self._verdict(keys[0]).quarantined,
        )
        yield self._judged(row, keys)

    def _events(self, pipe: str) -> int:
        """Copies that route made of events, without those that transmit recognised as second ones."""
        copies = self._count(Stage.FIRST, pipe) + self._count(Stage.FURTHER, pipe)
        return max(0, copies - self._count(Stage.DROPPED, pipe))

    def _retry(self, pipe: str) -> Iterator[HopRow]:
        taken, given = self._count(Stage.WAITING, pipe), self._count(Stage.RETRIED, pipe)
        if taken or given:
            key = Key(Reconciliation.RETRY, pipe)
            row = HopRow(
                node=Node.RETRY,
                pipe=pipe,
                taken=taken,
                given=given,
                quarantined=self._verdict(key).quarantined,
            )
            yield self._judged(row, (key,))

    def _unclaimed(
        self, node: Node, reconciliation: Reconciliation, topics: Iterable[Topic]
    ) -> Iterator[HopRow]:
        """Quarantined records that match no missing event: their ids or pipes could not be read."""
        found = sum(self._count(Stage.QUARANTINED, topic) for topic in topics)
        verdicts = self._judgement.verdicts.items()
        found -= sum(verdict.quarantined for key, verdict in verdicts if key.reconciliation is reconciliation)
        if found > 0:
            yield HopRow(node=node, taken=0, given=0, quarantined=found)

    def _verdict(self, key: Key) -> Verdict:
        return self._judgement.verdicts.get(key, _EVEN)

    def _judged(self, row: HopRow, keys: Iterable[Key]) -> HopRow:
        keys = [key for key in keys if key in self._judgement.verdicts]
        verdicts = [self._verdict(key) for key in keys]
        lost, doubled = sum(each.lost for each in verdicts), sum(each.extra for each in verdicts)
        named = [event for key in keys for event in self._named(key)]
        return msgspec.structs.replace(
            row,
            lost=lost,
            doubled=doubled,
            under_way=sum(each.under_way for each in verdicts),
            waiting=sum(each.waiting for each in verdicts),
            lost_percent=percent(lost, row.taken),
            named=named,
            unnamed=sum(abs(event.times) for event in named) < lost + doubled
            or any(each.unread for each in verdicts),
            look_at=[place for key in keys for place in self._look_at(key)] if lost or doubled else [],
        )

    def _named(self, key: Key) -> list[NamedEvent]:
        """The lost and doubled events of a verdict, with the ids found so far."""
        known = {event.hash: event for event in self._names.get(key, ())}
        ids = self._verdict(key).ids
        bare = [NamedEvent(hash=f"{value:016x}", times=ids[value]) for value in sorted(ids)]
        events = [msgspec.structs.replace(known.get(event.hash, event), times=event.times) for event in bare]
        return [*_first(events, 1), *_first(events, -1)]

    def _look_at(self, key: Key) -> list[str]:
        lines = self._state.of(key.balance.input, key.input_name)
        spans = sorted({(place, span) for line in lines for place, span in line.spans.items()})
        return [f"{topic}/{partition}/{first}-{last}" for (topic, partition), (first, last) in spans]


_OF_A_PIPE: Final = frozenset(Stage) - {
    Stage.COLLECTED,
    Stage.EVENTS,
    Stage.UNMATCHED,
    Stage.QUARANTINED,
}
_READ_BY_TRANSMIT: Final = Key(Reconciliation.UNSENDABLE).balance.quarantined


def dead(state: MinuteState, pipe: str | None = None) -> int:
    """Dead letters that were not replayed since."""
    return max(0, state.count(Stage.DEAD, pipe) - state.count(Stage.LETTER, pipe))
