"""Finds lost events: acknowledged ids that neither arrived nor wait, with a reason, in Kafka."""

import time
from collections import Counter
from collections.abc import Container, Iterable, Mapping
from typing import Final

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from msgspec import Struct

from shared.contracts.headers import CE_ID, PIPE
from shared.contracts.replays import LetterKey, decode_replay
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.contracts.topology import CHAIN_QUERIES, READERS
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.consumer_lag import lags
from shared.kafka.errors import kafka_errors_explained
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.kafka.progress_group import group_name
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

_GROUPS: Final = {topic: READERS[topic] for topic in (*RETRY_DELAYS, Topic.RETRY_OUT, Topic.OUTBOUND_SLOW)}
"""The node that reads each topic. Records that it has read do not wait there, though Kafka still has them."""

VISIBLE_TOPICS: Final = (*_GROUPS, Topic.DEAD_LETTER)
"""Topics in which an event that has not arrived may wait."""

_LOOKS_SECONDS: Final = 5.0
_PAUSE_SECONDS: Final = 0.2
_RECENT_MS: Final = 60_000
"""Records read so recently may have arrived after the caller's check."""


class DeliveryCheck(Struct, frozen=True, kw_only=True):
    """Acknowledged events by outcome."""

    acked: int
    received: int
    """Distinct events that arrived."""

    waiting: int
    """Acknowledged events that did not arrive but are in a retry or dead-letter topic."""

    lost: tuple[str, ...]
    duplicated: int
    """Arrivals beyond the first of each event."""


def check_delivery(
    acked: Iterable[str], arrivals: Iterable[str], visible: Iterable[str] = ()
) -> DeliveryCheck:
    """Compare ids; `arrivals` has an id once per arrival, through one pipe."""
    promised, counted = set(acked), Counter(arrivals)
    missing = promised - counted.keys()
    lost = missing - set(visible)
    return DeliveryCheck(
        acked=len(promised),
        received=len(counted),
        waiting=len(missing) - len(lost),
        lost=tuple(sorted(lost)),
        duplicated=counted.total() - len(counted),
    )


Partition = tuple[str, int]
"""Topic and partition."""

Visible = set[tuple[str, str]]
"""(pipe, event id): an event may wait in one pipe and be missing in another."""


def visible_ids(bootstrap: str, seconds: float = 30.0) -> Visible:
    """Events that wait in the retry and dead-letter topics, each read to its current end.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the ends are not reached within `seconds`.
    """
    with kafka_errors_explained(bootstrap):
        return _visible_ids(bootstrap, seconds)


def _visible_ids(bootstrap: str, seconds: float) -> Visible:
    deadline = time.monotonic() + seconds
    starts: dict[Partition, int] = {}
    for node in set(_GROUPS.values()):
        starts |= _read_by(bootstrap, node, seconds)
    consumer = Consumer(reader_config(bootstrap, "verify"), logger=_log)
    found: Visible = set()
    gone = _replayed(bootstrap, seconds)
    try:
        waiting = _assign(consumer, starts, seconds)
        while waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(waiting)} partitions were not read to their end in {seconds:.0f} s")
            for message in consumer.consume(num_messages=1_000, timeout=0.2):
                _take(message, found, waiting, gone)
    finally:
        consumer.close()
    return found


def is_behind(bootstrap: str) -> bool:
    """Whether the chain has records that it has not read, at each look within some seconds.

    At one look it nearly always has some: hifi sends events of its own. Those that wait for a retry are none.

    Raises:
        KafkaUnavailableError: if the brokers do not answer.
    """
    deadline = time.monotonic() + _LOOKS_SECONDS
    with kafka_errors_explained(bootstrap):
        admin = admin_client(bootstrap)
        while any(lag.ahead for lag in lags(admin) if lag.node in CHAIN_QUERIES):
            if time.monotonic() > deadline:
                return True
            time.sleep(_PAUSE_SECONDS)
    return False


def visible_in(pipe: str, visible: Visible) -> set[str]:
    """The event ids that are visible in one pipe."""
    return {event_id for found, event_id in visible if found == pipe}


def _places(consumer: Consumer, topics: Iterable[str], seconds: float) -> list[Partition]:
    known = consumer.list_topics(timeout=seconds).topics
    return [(topic, number) for topic in topics if topic in known for number in known[topic].partitions]


def _read_by(bootstrap: str, node: str, seconds: float) -> dict[Partition, int]:
    """Offsets up to which a node has read its topics, by its group, without recent records."""
    topics = [str(topic) for topic, reader in _GROUPS.items() if reader == node]
    consumer = Consumer(reader_config(bootstrap, "verify") | {"group.id": group_name(node)}, logger=_log)
    try:
        places = _places(consumer, topics, seconds)
        read = consumer.committed([TopicPartition(*place) for place in places], timeout=seconds)
        since = wall_clock() - _RECENT_MS
        late = consumer.offsets_for_times([TopicPartition(*place, since) for place in places], seconds)
    finally:
        consumer.close()
    found = {(at.topic, at.partition): at.offset for at in read if at.offset >= 0}
    lately = {(at.topic, at.partition): at.offset for at in late if at.offset >= 0}
    return {place: min(offset, lately.get(place, offset)) for place, offset in found.items()}


def _replayed(bootstrap: str, seconds: float) -> set[LetterKey]:
    """Dead letters that were replayed, apart from recent replays."""
    since = wall_clock() - _RECENT_MS
    with OffsetRangeReader(bootstrap, "verify", seconds=seconds) as reader:
        records = reader.read(reader.whole([Topic.REPLAYED]))
        replays = [decode_replay(record.value() or b"") for record in records]
    return {letter for replay in replays if replay.at_ms < since for letter in replay.letters}


def _assign(consumer: Consumer, starts: Mapping[Partition, int], seconds: float) -> set[Partition]:
    places = _places(consumer, map(str, VISIBLE_TOPICS), seconds)
    consumer.assign([TopicPartition(*place, starts.get(place, 0)) for place in places])
    return set(places)


def _take(message: Message, found: Visible, waiting: set[Partition], gone: Container[LetterKey]) -> None:
    error = message.error()
    if error is None:
        at = LetterKey(message.partition() or 0, message.offset() or 0, message.timestamp()[1])
        if message.topic() == Topic.DEAD_LETTER and at in gone:
            return
        headers = dict(message.headers() or [])
        pipe, event_id = headers.get(PIPE), headers.get(CE_ID)
        if isinstance(pipe, bytes) and isinstance(event_id, bytes):
            found.add((pipe.decode(), event_id.decode()))
    elif error.code() == KafkaError._PARTITION_EOF:
        waiting.discard((message.topic() or "", message.partition() or 0))
    else:
        raise KafkaException(error)
