"""Where consumer groups stand, and groups that are set to go on somewhere else."""

from collections.abc import Iterable, Mapping
from typing import Any, Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

_ANSWER_SECONDS: Final = 10.0
_PATIENCE_SECONDS: Final = 2 * _ANSWER_SECONDS  # or the wait ends before the client says why there is none


def group_positions(admin: AdminClient, groups: Iterable[str]) -> dict[str, dict[str, int]]:
    """Committed offsets by consumer group and `topic/partition`; groups without any are missing.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    found = {group: committed_offsets(admin, group) for group in groups}
    return {
        group: {f"{topic}/{partition}": offset for (topic, partition), offset in offsets.items()}
        for group, offsets in found.items()
        if offsets
    }


def committed_offsets(admin: AdminClient, group: str) -> dict[tuple[str, int], int]:
    """A consumer group's committed offsets by (topic, partition); empty for one that does not exist.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    asked = [ConsumerGroupTopicPartitions(group)]
    (future,) = admin.list_consumer_group_offsets(asked, request_timeout=_ANSWER_SECONDS).values()
    partitions = future.result(_PATIENCE_SECONDS).topic_partitions or []
    return {(p.topic, p.partition): p.offset for p in partitions if p.offset >= 0}


def commit_positions(admin: AdminClient, group: str, offsets: Mapping[str, int]) -> None:
    """Let a group without members go on at these offsets.

    Raises:
        KafkaException: if the brokers refuse, for example because the group has members.
    """
    wanted = [_partition(name, offset) for name, offset in offsets.items()]
    asked: Any = [ConsumerGroupTopicPartitions(group, wanted)]
    (future,) = admin.alter_consumer_group_offsets(asked, request_timeout=_ANSWER_SECONDS).values()
    for each in future.result(_PATIENCE_SECONDS).topic_partitions or []:
        if each.error is not None:
            raise KafkaException(each.error)


def _partition(name: str, offset: int) -> TopicPartition:
    topic, _, partition = name.rpartition("/")
    return TopicPartition(topic, int(partition), offset)
