"""A side without nodes: writes the nodes' records and tallies them as audit does."""

from collections import defaultdict
from collections.abc import Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor

import msgspec
import numpy as np
from confluent_kafka import TopicPartition

from pipelines.control.observe.ledger.event_search import record_of
from pipelines.control.observe.ledger.record_parser import ObservedEvent, events_in
from shared.contracts import headers as h
from shared.contracts.envelope import MINUTE_MS, collected_item, encode_items
from shared.contracts.event_hash import id_hash
from shared.contracts.lag_histogram import histogram
from shared.contracts.ledger import Range, Stage, Tally, encode_range, with_ids
from shared.contracts.receipts import Receipt, Result
from shared.contracts.topics import TALLIED, Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.kafka.progress_group import ProgressGroup
from tests.harness.topics import Headers, Topics

LAG_MS = 200
_RECEIPTS = {Stage.DELIVERED, Stage.RETRYING, Stage.DEAD, Stage.DROPPED}


class Side:
    """Topics of real brokers."""

    def __init__(self, bootstrap: str, tenant: str = "acme", source: str = "shop") -> None:
        self.bootstrap, self.tenant, self.source = bootstrap, tenant, source
        self._topics = Topics(bootstrap)
        self._covered: dict[tuple[str, int], int] = {}

    def _stamps(self, event_id: str, minute: int, **more: str) -> Headers:
        texts = {
            h.CE_ID: event_id,
            h.TENANT: self.tenant,
            h.SOURCE: self.source,
            h.RECEIVED: str(minute * MINUTE_MS),
            h.MINUTE: str(minute),
        }
        return [(name, text.encode()) for name, text in (texts | more).items()]

    def collected(self, ids: Sequence[str], minute: int) -> None:
        """One record for the events of a request."""
        usual = {"source": "s", "type": "t", "time": "2026-01-01T00:00:00Z"}
        items = [collected_item({"id": each, **usual}, minute=minute) for each in ids]
        headers = [header for header in self._stamps("", minute) if header[0] != h.CE_ID]
        self._topics.put(Topic.COLLECTED, encode_items(items), headers, None)

    def each(self, topic: Topic, ids: Iterable[str], minute: int, **headers: str) -> None:
        """One record per event."""
        for event_id in ids:
            self._topics.put(topic, b"{}", self._stamps(event_id, minute, **headers), None)

    def outbound(self, ids: Iterable[str], minute: int, *pipes: str) -> None:
        """One record per event and pipe."""
        names = {h.PIPES: h.PIPES_SEPARATOR.join(pipes)} if len(pipes) > 1 else {}
        for event_id in ids:
            for pipe in pipes:
                headers = self._stamps(event_id, minute, **{h.PIPE: pipe}, **names)
                self._topics.put(Topic.OUTBOUND, b"{}", headers, None)

    def receipt(
        self, ids: Sequence[str], minute: int, pipe: str, result: Result = "delivered", inside_ms: int = 300
    ) -> None:
        """The receipt of one request."""
        at_ms = minute * MINUTE_MS
        receipt = Receipt(
            destination=f"to-{pipe}",
            pipe=pipe,
            result=result,
            ids=list(ids),
            minutes=[minute] * len(ids),
            status=200 if result == "delivered" else 503,
            tries=1,
            attempt=1,
            received_ms=[at_ms] * len(ids),
            departed_ms=at_ms + inside_ms,
            tenant=self.tenant,
            since_ms=[at_ms - LAG_MS] * len(ids),
            reason="" if result == "delivered" else "busy: come later",
        )
        self._topics.put(Topic.RECEIPTS, msgspec.json.encode(receipt), [], None)

    def whole(self, ids: Sequence[str], minute: int, *pipes: str) -> None:
        """Write every hop of events that every pipe delivers."""
        self.collected(ids, minute)
        self.each(Topic.EVENTS, ids, minute)
        self.outbound(ids, minute, *pipes)
        for pipe in pipes:
            self.receipt(ids, minute, pipe)

    def read(self) -> None:
        """Commit for every node that it has read everything, in parallel: each looks for its coordinator."""
        self._topics.flush()
        with (
            OffsetRangeReader(self.bootstrap, "test-side") as reader,
            ThreadPoolExecutor(len(CHAIN_GROUPS)) as pool,
        ):
            spans = {node: reader.whole(INPUTS[node]) for node in CHAIN_GROUPS}
            list(pool.map(self._show, spans.keys(), spans.values()))

    def _show(self, node: str, read: Sequence[OffsetRange]) -> None:
        ends = [TopicPartition(span.topic, span.partition, span.end) for span in read]
        ProgressGroup(self.bootstrap, node).show(ends)

    def audit(self) -> list[Range]:
        """Tally new records; returns the new records of the ledger."""
        self._topics.flush()
        with OffsetRangeReader(self.bootstrap, "test-audit") as reader:
            spans = [
                span._replace(start=max(span.start, self._covered.get(span[:2], 0)))
                for span in reader.whole(TALLIED)
            ]
            ranges = [self._range(reader, span) for span in spans if span.records]
        for found in ranges:
            self.put(found)
        self._topics.flush()
        return ranges

    def recreated(self, topic: Topic) -> None:
        """The topic was deleted and created again: its records are tallied from its start."""
        self._topics = Topics(self.bootstrap)
        self._covered = {place: end for place, end in self._covered.items() if place[0] != topic}

    def put(self, found: Range) -> None:
        """Write a record of the ledger."""
        self._topics.put(Topic.LEDGER, encode_range(found), [], found.key)

    def rubbish(self, value: bytes) -> None:
        """Write a record of the ledger that cannot be decoded."""
        self._topics.put(Topic.LEDGER, value, [], None)

    def flush(self) -> None:
        """Wait until all records are acknowledged."""
        self._topics.flush()

    def _range(self, reader: OffsetRangeReader, span: OffsetRange) -> Range:
        records = [record_of(message) for message in reader.read([span])]
        self._covered[span.topic, span.partition] = span.end
        return Range(
            topic=Topic(span.topic),
            partition=span.partition,
            start=span.start,
            end=span.end,
            newest_ms=max(record.at_ms for record in records),
            tallies=tallies(seen for record in records for seen in events_in(record)),
        )


def tallies(events: Iterable[ObservedEvent]) -> list[Tally]:
    """Tallies as audit makes them, one event each; each is LAG_MS late, which is in time."""
    groups: dict[tuple[Stage, str, int, str, str], list[ObservedEvent]] = defaultdict(list)
    for seen in events:
        destination = seen.destination if seen.stage in _RECEIPTS else ""
        groups[seen.stage, seen.tenant, seen.minute, seen.name, destination].append(seen)
    return [_tally(found, key[-1]) for key, found in groups.items()]


def _tally(found: list[ObservedEvent], destination: str) -> Tally:
    stage = found[0].stage
    hashes = np.array([id_hash(seen.id) for seen in found], np.uint64)
    offsets, times = [s.record.offset for s in found], [s.record.at_ms for s in found]
    lags = histogram(np.full(len(found), LAG_MS))
    delivered = stage is Stage.DELIVERED
    return with_ids(
        Tally(
            stage=stage,
            tenant=found[0].tenant,
            minute=found[0].minute,
            name=found[0].name,
            destination=destination,
            count=len(found),
            lag_in=lags if stage is Stage.COLLECTED else {},
            lag_out=lags,
            inside=lags if delivered else {},
            good=len(found) if delivered else 0,
            due_ms=max(times) + 3_600_000 if stage is Stage.WAITING else 0,
            reasons={"503 busy": len(found)} if stage in (Stage.RETRYING, Stage.DEAD) else {},
            first=min(offsets),
            last=max(offsets),
            first_ms=min(times),
            last_ms=max(times),
        ),
        hashes,
    )
