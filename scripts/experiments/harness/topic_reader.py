"""Reads the newest records of a topic."""

import time
from collections.abc import Iterator

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.errors import kafka_errors_explained
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
        waiting = _assign(consumer, topic, start_ms)
        while waiting:
            if time.monotonic() > deadline:
                raise TimeoutError(f"the end of {topic} was not reached in {deadline_seconds:.0f} s")
            for message in consumer.consume(num_messages=1_000, timeout=0.2):
                error = message.error()
                if error is None:
                    yield message
                elif error.code() == KafkaError._PARTITION_EOF:
                    waiting.discard(message.partition())
                elif not error.retriable():
                    raise KafkaException(error)
    finally:
        consumer.close()


def _assign(consumer: Consumer, topic: Topic, start_ms: int) -> set[int]:
    found = consumer.list_topics(topic, timeout=_WAIT_SECONDS).topics[topic].partitions
    wanted = [TopicPartition(topic, partition, start_ms) for partition in found]
    starts = consumer.offsets_for_times(wanted, timeout=_WAIT_SECONDS)
    consumer.assign(starts)  # a partition without such records starts at its end
    return {start.partition for start in starts}


_receipt = msgspec.json.Decoder(Receipt)


def receipts_since(bootstrap: str, start_ms: int, deadline_seconds: float) -> Iterator[Receipt]:
    """Receipts written from `start_ms` on.

    Raises:
        KafkaUnavailableError: if the brokers do not answer, or the end is not reached in `deadline_seconds`.
    """
    for message in records_since(bootstrap, Topic.RECEIPTS, start_ms, deadline_seconds):
        yield _receipt.decode(message.value() or b"")
