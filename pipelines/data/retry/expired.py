"""Says which waiting records Kafka deleted before they were read: a consumer goes on without a word."""

from typing import Final

from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 2.0


def log_expired(consumer: Consumer, partitions: list[TopicPartition]) -> None:
    """Log of each partition how many records behind its group's offset are gone.

    Asked once: brokers that do not answer now must not hold up records that are due.
    """
    try:
        for at in consumer.committed(partitions, timeout=_ANSWER_SECONDS):
            if at.error:
                raise KafkaException(at.error)
            if at.offset >= 0:
                _log_gap(at, retained_offsets(consumer, at, seconds=_ANSWER_SECONDS).first)
    except KafkaException as error:
        extra = {"error": error.args[0].str()}
        _log.warning("whether records expired before they were read is not known", extra=extra)


def _log_gap(committed: TopicPartition, first: int) -> None:
    if committed.offset < first:
        extra = {
            "topic": committed.topic,
            "partition": committed.partition,
            "records": first - committed.offset,
        }
        _log.error("records expired before they were read", extra=extra)
