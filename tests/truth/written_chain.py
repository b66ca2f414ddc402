"""Writes a whole chain's topics by hand, with known losses and doubles.

The records are like those of the nodes, so audit cannot distinguish them; but here it is certain which
event is missing where.
"""

from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from datetime import UTC, datetime
from itertools import islice
from typing import Final

import msgspec
from confluent_kafka import Consumer, Producer, TopicPartition

from shared.contracts import headers as h
from shared.contracts.envelope import CollectedItem, collected_item, delivery_key, encode_items
from shared.contracts.receipts import Receipt, Result
from shared.contracts.scorecard import Node
from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.background_reader import reader_config
from shared.kafka.producer import producer_config
from shared.kafka.progress_group import group_name
from shared.kafka.retained_offsets import retained_offsets

CHUNK: Final = 500
UNMATCHED_EVERY: Final = 7
"""One of this many events matches no pipe."""

FURTHER_EVERY: Final = 5
"""One of this many events matches two pipes."""

LATENCY_MS: Final = 40
NOW: Final = 0
"""A timestamp of 0 lets the client set the time."""

_encoder = msgspec.json.Encoder()
Headers = list[tuple[str, str | bytes | None]]


@dataclass(frozen=True)
class Made:
    """One event of a tenant."""

    tenant: str
    number: int
    at_ms: int

    @property
    def id(self) -> str:
        return f"{self.tenant}-{self.number}"

    @property
    def matched(self) -> bool:
        return self.number % UNMATCHED_EVERY != 0

    @property
    def pipes(self) -> list[str]:
        """The pipes that take it, in route's order."""
        if not self.matched:
            return []
        first, further = first_pipe(self.tenant), further_pipe(self.tenant)
        return [first, further] if self.number % FURTHER_EVERY == 0 else [first]

    @property
    def minute(self) -> int:
        return self.at_ms // 60_000


@dataclass(frozen=True)
class Fault:
    """Errors of one hop: ids that it omits, and ids that it writes twice."""

    node: Node | None = None
    lost: frozenset[str] = frozenset()
    doubled: frozenset[str] = frozenset()

    def copies(self, node: Node, event_id: str) -> int:
        """Number of times that a node writes an event."""
        if node != self.node:
            return 1
        return 0 if event_id in self.lost else 2 if event_id in self.doubled else 1


def first_pipe(tenant: str) -> str:
    return f"{tenant}-all"


def further_pipe(tenant: str) -> str:
    return f"{tenant}-fifth"


def made(tenant: str, count: int, at_ms: int, first: int = 0) -> list[Made]:
    """Events at most a millisecond apart, all within the minute of `at_ms`."""
    return [Made(tenant, first + n, at_ms + n * 1_000 // max(count, 1_000)) for n in range(count)]


class WrittenChain:
    """Writes the topics of whole hops."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap
        self._producer = Producer(
            producer_config(bootstrap, "test-chain") | {"linger.ms": 50, "batch.num.messages": 20_000}
        )

    def write(self, events: Sequence[Made], fault: Fault) -> None:
        """Write every hop of these events; returns when the brokers have all records."""
        self._collected(events)
        taken = self._events(events, fault)
        copies = self._outbound(taken, fault)
        self._receipts(copies, fault)
        assert self._producer.flush(120) == 0

    def write_waiting(self, event: Made, not_before_ms: int) -> None:
        """Write every hop of an event whose first try fails, at the time of the event."""
        pipe, at_ms = event.pipes[0], event.at_ms
        stamps: Headers = [(h.TENANT, event.tenant), (h.SOURCE, event.tenant), (h.RECEIVED, str(at_ms))]
        self._put(Topic.COLLECTED, encode_items([_item(event)]), stamps, at_ms=at_ms)
        self._put(Topic.EVENTS, b"{}", _headers(event), at_ms=at_ms)
        copy: Headers = [*_headers(event), (h.PIPE, pipe)]
        self._put(Topic.OUTBOUND, b"{}", [*copy, (h.ATTEMPT, "1")], at_ms=at_ms)
        self._put(Topic.RECEIPTS, _receipt([event], pipe, "retry"), [], at_ms=at_ms)
        kept: Headers = [*copy, (h.ATTEMPT, "1"), (h.NOT_BEFORE, str(not_before_ms))]
        self._put(Topic.RETRY_IN_1H, b"{}", kept, at_ms=at_ms)
        assert self._producer.flush(60) == 0

    def write_retried(self, event: Made, now_ms: int) -> None:
        """Write its second try, which succeeds."""
        pipe = event.pipes[0]
        headers: Headers = [*_headers(event), (h.PIPE, pipe), (h.ATTEMPT, "2")]
        self._put(Topic.RETRY_OUT, b"{}", headers)
        self._put(Topic.RECEIPTS, _receipt([event], pipe, "delivered", now_ms), [])
        assert self._producer.flush(60) == 0

    def commit(self) -> None:
        """Commit for each node that it has read everything."""
        for node in CHAIN_GROUPS:
            consumer = Consumer(
                reader_config(self._bootstrap, "test-commit") | {"group.id": group_name(node)}
            )
            known = consumer.list_topics(timeout=60).topics
            places = [TopicPartition(t, p) for t in INPUTS[node] for p in known[t].partitions]
            for place in places:
                place.offset = retained_offsets(consumer, place, seconds=60).end
            consumer.commit(offsets=places, asynchronous=False)
            consumer.close()

    def _collected(self, events: Sequence[Made]) -> None:
        for chunk in _chunks(events, CHUNK):
            headers: Headers = [(h.TENANT, chunk[0].tenant), (h.SOURCE, chunk[0].tenant)]
            headers.append((h.RECEIVED, str(chunk[-1].at_ms)))
            self._put(Topic.COLLECTED, encode_items(_item(event) for event in chunk), headers)

    def _events(self, events: Sequence[Made], fault: Fault) -> list[Made]:
        written = [event for event in events for _ in range(fault.copies(Node.INGEST, event.id))]
        for event in written:
            self._put(Topic.EVENTS, b"{}", _headers(event))
        return written

    def _outbound(self, events: Sequence[Made], fault: Fault) -> list[tuple[Made, str]]:
        written = []
        for event in events:
            if not event.matched:
                self._put(Topic.UNMATCHED, None, _headers(event))
            for pipe in event.pipes:
                times = fault.copies(Node.ROUTE, event.id) if pipe == event.pipes[0] else 1
                written += [(event, pipe)] * times
        for event, pipe in written:
            headers = [*_headers(event), (h.PIPE, pipe), (h.ATTEMPT, "1")]
            if len(event.pipes) > 1:
                names = event.pipes if pipe == event.pipes[0] else event.pipes[:1]
                headers.append((h.PIPES, h.PIPES_SEPARATOR.join(names)))
            self._put(Topic.OUTBOUND, b"{}", headers, delivery_key(event.tenant, pipe, "/test", event.id))
        return written

    def _receipts(self, copies: Sequence[tuple[Made, str]], fault: Fault) -> None:
        """transmit drops a second copy that reaches it; one that it doubles itself is delivered."""
        seen: set[tuple[str, str]] = set()
        ends: dict[tuple[str, Result], list[Made]] = {}
        for event, pipe in copies:
            known = (event.id, pipe) in seen
            seen.add((event.id, pipe))
            times = 1 if known or pipe != event.pipes[0] else fault.copies(Node.TRANSMIT, event.id)
            ends.setdefault((pipe, "duplicate" if known else "delivered"), []).extend([event] * times)
        for (pipe, result), group in ends.items():
            for chunk in _chunks(group, CHUNK):
                self._put(Topic.RECEIPTS, _receipt(chunk, pipe, result), [])

    def _put(
        self,
        topic: Topic,
        value: bytes | None,
        headers: Headers,
        key: bytes | None = None,
        at_ms: int = NOW,
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, headers=headers, timestamp=at_ms)
            except BufferError:
                self._producer.poll(0.1)
            else:
                return


def _chunks(items: Iterable[Made], size: int) -> Iterator[list[Made]]:
    rest = iter(items)
    while chunk := list(islice(rest, size)):
        yield chunk


def _item(event: Made) -> CollectedItem:
    return collected_item(_attributes(event), minute=event.minute, data="{}")


def _attributes(event: Made) -> dict[str, str]:
    time = datetime.fromtimestamp(event.at_ms / 1_000, UTC).isoformat(timespec="milliseconds")
    return {"id": event.id, "source": "/test", "type": "t", "time": time}


def _headers(event: Made) -> Headers:
    stamps = {h.TENANT: event.tenant, h.SOURCE: event.tenant, h.RECEIVED: str(event.at_ms)}
    attributes = {h.attribute_header(name): text for name, text in _attributes(event).items()}
    return [*(attributes | stamps | {h.MINUTE: str(event.minute)}).items()]


def _receipt(events: Sequence[Made], pipe: str, result: Result, departed_ms: int | None = None) -> bytes:
    receipt = Receipt(
        destination=pipe,
        pipe=pipe,
        result=result,
        ids=[event.id for event in events],
        minutes=[event.minute for event in events],
        status={"delivered": 200, "retry": 503}.get(result),
        tries=1,
        attempt=1,
        received_ms=[event.at_ms for event in events],
        departed_ms=departed_ms or events[-1].at_ms + LATENCY_MS,
        reason="failed: the destination answered 503" if result == "retry" else "",
        tenant=events[0].tenant,
        since_ms=[event.at_ms for event in events],
    )
    return _encoder.encode(receipt)
