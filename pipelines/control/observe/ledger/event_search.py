"""Searches the topics for the records of one event, newest records first, up to a bound. For `hifi trace`."""

from collections.abc import Iterable, Mapping
from typing import Final, cast

from confluent_kafka import Message

from pipelines.control.observe.ledger.record_parser import ObservedEvent, Record, events_in
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, EventLocation, EventSearch, Node
from shared.contracts.topics import TALLIED, Topic
from shared.contracts.topology import INPUTS, OUTPUTS
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

MOST_RECORDS: Final = 400_000
"""Most records read for one search: about ten seconds."""

_NODES: Final = frozenset(Node)
_WRITERS: Final[Mapping[str, Node]] = {
    topic: Node(name) for name, topics in OUTPUTS.items() if name in _NODES for topic in topics
}
"""The node that writes a topic. `quarantine` is not here: several nodes write it."""

_READERS: Final[Mapping[str, Node]] = {
    topic: Node(name) for name, topics in INPUTS.items() if name in _NODES for topic in topics
}
"""The node that quarantines unreadable records of a topic; transmit for topics not listed."""


def find(reader: OffsetRangeReader, tenant: str, event_id: str, since_ms: int) -> EventSearch:
    """The records of an event since `since_ms` (epoch milliseconds).

    Raises:
        KafkaException: if the brokers refuse the request.
        TimeoutError: if the brokers do not answer in time.
    """
    asked = list(reader.since(reader.whole(TALLIED), since_ms))
    spans = bounded(asked, MOST_RECORDS)
    wanted = event_id.encode()
    records = (record_of(message) for message in reader.read(spans))
    near = (record for record in records if _may_hold(record, wanted))
    found = [seen for record in near for seen in events_in(record) if _is(seen, tenant, event_id)]
    places = sorted(map(place_of, found), key=lambda place: (place.at_ms, place.topic, place.offset))
    return EventSearch(places=places, complete=spans == asked)


def bounded(spans: Iterable[OffsetRange], most: int) -> list[OffsetRange]:
    """The spans cut at their beginnings, in proportion, so that they hold at most `most` records."""
    held = list(spans)
    total = sum(span.records for span in held)
    if total <= most:
        return held
    return [span._replace(start=span.end - span.records * most // total) for span in held]


def record_of(message: Message) -> Record:
    """Convert a Kafka message."""
    return Record(
        cast(str, message.topic()),
        cast(int, message.partition()),
        cast(int, message.offset()),
        message.timestamp()[1],
        cast(list[tuple[str, bytes | None]], message.headers() or []),
        message.value(),
    )


def _may_hold(record: Record, wanted: bytes) -> bool:
    """Whether a record may hold the id, judged without decoding it. JSON may escape characters of an id."""
    if any(value == wanted for _, value in record.headers):
        return True
    value = record.value or b""
    return wanted in value or b"\\" in value


def _is(seen: ObservedEvent, tenant: str, event_id: str) -> bool:
    mine = tenant in (ALL_TENANTS, seen.tenant)
    return mine and seen.id == event_id and seen.stage != Stage.CLAIMED


def place_of(seen: ObservedEvent) -> EventLocation:
    """The location as the API returns it."""
    record, quarantined = seen.record, seen.stage == Stage.QUARANTINED
    nodes, topic = (_READERS, seen.name) if quarantined else (_WRITERS, record.topic)
    return EventLocation(
        node=nodes.get(topic, Node.TRANSMIT),
        topic=record.topic,
        partition=record.partition,
        offset=record.offset,
        at_ms=record.at_ms,
        pipe="" if quarantined or seen.stage == Stage.COLLECTED else seen.name,
        destination=seen.destination,
        result=seen.stage if record.topic == Topic.RECEIPTS else "",
        text=seen.text,
    )
