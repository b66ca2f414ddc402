"""The end of a topic, read back: what the hops wrote during the last seconds."""

import time
from collections.abc import Iterator
from typing import cast

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from scripts.experiments.bench.lags import (
    Headers,
    HopLag,
    Point,
    Stamp,
    collected_stamps,
    event_stamps,
    hop_lags,
    receipt_stamps,
)
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config

_WAIT_SECONDS = 10.0


def records_since(bootstrap: str, topic: Topic, start_ms: int, deadline_seconds: float) -> Iterator[Message]:
    """Records of `topic` with a timestamp from `start_ms` on, to the end it has now.

    Raises:
        KafkaException: if the brokers do not answer.
        TimeoutError: if the end was not reached within `deadline_seconds`.
    """
    deadline = time.monotonic() + deadline_seconds
    consumer = Consumer(reader_config(bootstrap, "bench-tails"))
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
    consumer.assign(starts)  # a partition without such a record starts at its end
    return {start.partition for start in starts}


def read_hop_lags(
    bootstrap: str, start_ms: int, *, every: int = 10, deadline_seconds: float = 60.0
) -> list[HopLag]:
    """Per-hop lags of about 1 in `every` events that were collected from `start_ms` on.

    Raises:
        KafkaException: if the brokers do not answer.
        TimeoutError: if a topic could not be read in time.
    """
    return hop_lags(_stamps(bootstrap, start_ms, every, deadline_seconds))


def _stamps(bootstrap: str, start_ms: int, every: int, deadline_seconds: float) -> Iterator[Stamp]:
    for topic in (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RECEIPTS):
        for message in records_since(bootstrap, topic, start_ms, deadline_seconds):
            try:
                yield from _stamps_of(message, topic, every)
            except (KeyError, ValueError, msgspec.MsgspecError):
                continue  # poison, which the chain itself puts into quarantine


def _stamps_of(message: Message, topic: Topic, every: int) -> Iterator[Stamp]:
    value, at_ms = message.value() or b"", message.timestamp()[1]
    match topic:
        case Topic.COLLECTED:
            return collected_stamps(value, _headers(message), at_ms, every)
        case Topic.EVENTS:
            return event_stamps(Point.EVENTS, _headers(message), at_ms, every)
        case Topic.OUTBOUND:
            return event_stamps(Point.OUTBOUND, _headers(message), at_ms, every)
        case _:
            return receipt_stamps(value, at_ms, every)


def _headers(message: Message) -> Headers:
    return dict(cast(list[tuple[str, bytes]], message.headers() or []))
