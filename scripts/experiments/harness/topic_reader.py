"""Reads the newest records of a topic."""

import time
from collections.abc import Iterator
from typing import cast

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.errors import kafka_errors_explained
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_WAIT_SECONDS = 10.0


def records_since(bootstrap: str, topic: Topic, start_ms: int, deadline_seconds: float) -> Iterator[Message]:
    """Records of `topic` with a timestamp from `start_ms` on, up to the end at the time of the call.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the end is not reached in `deadline_seconds`.
    """
    with kafka_errors_explained(bootstrap):
        yield from _records_since(bootstrap, topic, start_ms, deadline_seconds)


def _records_since(bootstrap: str, topic: Topic, start_ms: int, deadline_seconds: float) -> Iterator[Message]:
    deadline = time.monotonic() + deadline_seconds
    consumer = Consumer(reader_config(bootstrap, "bench-tails"), logger=_log)
    try:
        ends = _assign(consumer, topic, start_ms)
        while ends:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the end of {topic} was not reached in {deadline_seconds:.0f} s")
            for message in consumer.consume(num_messages=1_000, timeout=0.2):
                yield from _known(message, ends)
    finally:
        consumer.close()


def _known(message: Message, ends: dict[int, int]) -> Iterator[Message]:
    """The message if it is from before the end of its partition, which is crossed off once it is reached.

    While others write, a reader may never learn that it is at the end.
    """
    error, partition, offset = message.error(), cast(int, message.partition()), cast(int, message.offset())
    if error is not None and error.code() != KafkaError._PARTITION_EOF:
        if not error.retriable():
            raise KafkaException(error)
        return
    if error is None and offset < ends.get(partition, 0):
        yield message
    if error is not None or offset + 1 >= ends.get(partition, 0):
        ends.pop(partition, None)


def _assign(consumer: Consumer, topic: Topic, start_ms: int) -> dict[int, int]:
    """Read from a time on; returns the end of each partition that has records since then."""
    found = consumer.list_topics(topic, timeout=_WAIT_SECONDS).topics[topic].partitions
    wanted = [TopicPartition(topic, partition, start_ms) for partition in found]
    starts = consumer.offsets_for_times(wanted, timeout=_WAIT_SECONDS)
    known = [start for start in starts if start.offset >= 0]
    ends = {each.partition: retained_offsets(consumer, each, seconds=_WAIT_SECONDS).end for each in known}
    consumer.assign(known)
    return ends


_receipt = msgspec.json.Decoder(Receipt)


def receipts_since(bootstrap: str, start_ms: int, deadline_seconds: float) -> Iterator[Receipt]:
    """Receipts written from `start_ms` on.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the end is not reached in `deadline_seconds`.
    """
    for message in records_since(bootstrap, Topic.RECEIPTS, start_ms, deadline_seconds):
        yield _receipt.decode(message.value() or b"")
