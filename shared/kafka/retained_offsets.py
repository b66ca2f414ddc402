"""Asks which offsets a partition holds, also while its leader moves."""

import time
from contextlib import suppress
from typing import Final, NamedTuple

from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from shared.kafka.moving_leaders import LEADER_MOVES, PAUSE_SECONDS

_ONE_TRY_SECONDS: Final = 2.0
"""A request to a leader that has just died stays in librdkafka's queue for as long as the caller waits."""

_ASK_AGAIN: Final = LEADER_MOVES | {
    KafkaError._TIMED_OUT,
    KafkaError._TRANSPORT,
    KafkaError._DESTROY_BROKER,
    KafkaError.REQUEST_TIMED_OUT,
    KafkaError.REPLICA_NOT_AVAILABLE,
    KafkaError.KAFKA_STORAGE_ERROR,
}
"""Errors that a new leader may end."""


class RetainedOffsets(NamedTuple):
    """The offsets that a partition still holds."""

    first: int
    end: int


def retained_offsets(consumer: Consumer, partition: TopicPartition, *, seconds: float) -> RetainedOffsets:
    """The offsets that a partition holds; `seconds` is how long to wait for a leader that answers.

    Raises:
        KafkaException: if the brokers refuse, or no leader answers in time.
    """
    deadline = time.monotonic() + seconds
    while True:
        left = max(deadline - time.monotonic(), PAUSE_SECONDS)
        try:
            return _ask(consumer, partition, min(left, _ONE_TRY_SECONDS))
        except KafkaException as error:
            if error.args[0].code() not in _ASK_AGAIN or time.monotonic() + PAUSE_SECONDS > deadline:
                raise
        time.sleep(PAUSE_SECONDS)
        _look_for_leader(consumer, partition.topic)


def _ask(consumer: Consumer, partition: TopicPartition, seconds: float) -> RetainedOffsets:
    found = consumer.get_watermark_offsets(partition, timeout=seconds)
    if found is None:
        raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
    return RetainedOffsets(*found)


def _look_for_leader(consumer: Consumer, topic: str) -> None:
    """Refresh the topic's leaders: for unassigned topics librdkafka keeps the first leader that it saw."""
    with suppress(KafkaException):
        consumer.list_topics(topic, timeout=_ONE_TRY_SECONDS)
