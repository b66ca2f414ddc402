"""Settings of the Kafka consumers of nodes that are not Spark queries."""

from typing import Any

from confluent_kafka import KafkaError, KafkaException, Message

from shared.kafka.background_reader import IDLE_FETCH_WAIT_MS
from shared.kafka.progress_group import group_name
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


def member_config(bootstrap: str, client_id: str, node: str) -> dict[str, Any]:
    """librdkafka settings of a member of a node's group.

    The owner commits offsets itself, after the effect: librdkafka's automatic commits stop in a rebalance. A
    member that was killed is noticed after six seconds instead of 45. Prefetching is bounded for all
    partitions together, not for each.
    """
    return {
        **client_config(bootstrap),
        "client.id": client_id,
        "group.id": group_name(node),
        "auto.offset.reset": "earliest",
        "enable.auto.commit": False,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        "reconnect.backoff.max.ms": 1_000,
        "socket.timeout.ms": 10_000,
        "queued.min.messages": 2_000,
        "queued.max.messages.kbytes": 8 * 1024,
        # Compressed bytes: similar records become twenty times as large when a batch is decompressed.
        "fetch.message.max.bytes": 128 * 1024,
        "fetch.wait.max.ms": IDLE_FETCH_WAIT_MS,
    }


def readable(message: Message) -> bool:
    """Whether a polled message is a record. Errors are logged, except that brokers are unavailable.

    Raises:
        KafkaException: if the error is fatal.
    """
    error = message.error()
    if error is None:
        return True
    if error.fatal():
        raise KafkaException(error)
    if error.code() not in (KafkaError._TRANSPORT, KafkaError._ALL_BROKERS_DOWN):
        _log.warning("Kafka consumer error", extra={"error": error.str()})
    return False
