"""The consumer of a node that is no Spark query. One owner of the client's settings."""

from typing import Any

from confluent_kafka import KafkaError, TopicPartition

from shared.kafka.shadow_group import group_name
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


def member_config(bootstrap: str, client_id: str, node: str) -> dict[str, Any]:
    """librdkafka settings of a member of a node's group.

    It commits, twice a second and when it leaves, what its owner has stored after the effect. A member that
    was killed is noticed after six seconds instead of 45. What is read ahead is bounded for all partitions
    together, not for each.
    """
    return {
        "bootstrap.servers": bootstrap,
        "client.id": client_id,
        "group.id": group_name(node),
        "auto.offset.reset": "earliest",
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 500,
        "partition.assignment.strategy": "cooperative-sticky",
        "session.timeout.ms": 6_000,
        "heartbeat.interval.ms": 1_000,
        "on_commit": _committed,
        "reconnect.backoff.max.ms": 1_000,
        "socket.timeout.ms": 10_000,
        "queued.min.messages": 2_000,
        "queued.max.messages.kbytes": 8 * 1024,
        "fetch.wait.max.ms": 500,
    }


def _committed(error: KafkaError | None, _partitions: list[TopicPartition]) -> None:
    """A commit that failed costs repeats after a crash, no more; the next one makes it good."""
    if error is not None and error.code() != KafkaError._NO_OFFSET:
        _log.warning("progress not committed", extra={"error": error.str()})
