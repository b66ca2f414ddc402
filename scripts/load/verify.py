"""Is anything lost? Acknowledged ids against those that arrived or wait, with a reason, in Kafka."""

import time
from collections import Counter
from collections.abc import Iterable

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from msgspec import Struct

from shared.contracts.headers import CE_ID, PIPE
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.table import reader_config

VISIBLE_TOPICS = (*RETRY_DELAYS, Topic.DEAD_LETTER)
"""Where an event that has not arrived may be found."""


class Verdict(Struct, frozen=True, kw_only=True):
    """What became of the acknowledged events."""

    acked: int
    received: int
    """Distinct events that arrived."""

    waiting: int
    """Acknowledged events that did not arrive but are in a retry or dead-letter topic."""

    lost: tuple[str, ...]
    duplicated: int
    """Arrivals beyond the first of each event."""


def verdict(acked: Iterable[str], arrivals: Iterable[str], visible: Iterable[str] = ()) -> Verdict:
    """Compare ids. `arrivals` has an id once for each time it arrived, through one pipe."""
    promised, counted = set(acked), Counter(arrivals)
    missing = promised - counted.keys()
    lost = missing - set(visible)
    return Verdict(
        acked=len(promised),
        received=len(counted),
        waiting=len(missing) - len(lost),
        lost=tuple(sorted(lost)),
        duplicated=counted.total() - len(counted),
    )


Visible = set[tuple[str, str]]
"""(pipe, event id): an event may wait in one pipe and be missing in another."""


def visible_ids(bootstrap: str, seconds: float = 30.0) -> Visible:
    """All that is in the retry and dead-letter topics, each read to the end it has now.

    Raises:
        KafkaException: if the brokers do not answer.
        TimeoutError: if the ends were not reached within `seconds`.
    """
    deadline = time.monotonic() + seconds
    consumer = Consumer(reader_config(bootstrap, "verify"))
    found: Visible = set()
    try:
        waiting = _assign(consumer, seconds)
        while waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(f"{len(waiting)} partitions were not read to their end in {seconds:.0f} s")
            for message in consumer.consume(num_messages=1_000, timeout=0.2):
                _take(message, found, waiting)
    finally:
        consumer.close()
    return found


def visible_in(pipe: str, visible: Visible) -> set[str]:
    """The event ids that are visible in one pipe."""
    return {event_id for found, event_id in visible if found == pipe}


def _assign(consumer: Consumer, seconds: float) -> set[tuple[str, int]]:
    known = consumer.list_topics(timeout=seconds).topics
    partitions = [
        (str(topic), partition)
        for topic in VISIBLE_TOPICS
        if topic in known
        for partition in known[topic].partitions
    ]
    consumer.assign([TopicPartition(topic, partition, 0) for topic, partition in partitions])
    return set(partitions)


def _take(message: Message, found: Visible, waiting: set[tuple[str, int]]) -> None:
    error = message.error()
    if error is None:
        headers = dict(message.headers() or [])
        pipe, event_id = headers.get(PIPE), headers.get(CE_ID)
        if isinstance(pipe, bytes) and isinstance(event_id, bytes):
            found.add((pipe.decode(), event_id.decode()))
    elif error.code() == KafkaError._PARTITION_EOF:
        waiting.discard((message.topic() or "", message.partition() or 0))
    else:
        raise KafkaException(error)
