"""Topic ends and consumer lag of a side's nodes."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient, OffsetSpec  # type: ignore[attr-defined]

from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS
from shared.kafka.errors import LEADER_MOVES
from shared.kafka.progress_group import group_name

_TIMEOUT_SECONDS: Final = 10.0
_PAUSE_SECONDS: Final = 0.2

CHAIN: Final = (
    ("collect", Topic.COLLECTED),
    ("ingest", Topic.EVENTS),
    ("route", Topic.OUTBOUND),
    ("transmit", Topic.RECEIPTS),
)
"""Each node and the topic it writes to, in the order an event passes them."""

_GROUPS: Final = (*CHAIN_GROUPS, "audit")


@dataclass(frozen=True, kw_only=True)
class Lag:
    """Records a node has not read yet; None if it has committed no offset yet."""

    node: str
    records: int | None


def topic_ends(admin: AdminClient) -> dict[Topic, int]:
    """Records ever written to each topic: the sum of its partitions' end offsets.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    ends = dict.fromkeys(Topic, 0)
    for partition, offset in partition_ends(admin).items():
        ends[Topic(partition[0])] += offset
    return ends


def partition_ends(admin: AdminClient) -> dict[tuple[str, int], int]:
    """End offset of each (topic, partition) of hifi's topics; asked again while a leader is moving.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    deadline = time.monotonic() + _TIMEOUT_SECONDS
    while True:
        try:
            return _ends(admin)
        except KafkaException as error:
            if error.args[0].code() not in LEADER_MOVES or time.monotonic() > deadline:
                raise
        time.sleep(_PAUSE_SECONDS)


def _ends(admin: AdminClient) -> dict[tuple[str, int], int]:
    found = admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
    asked = [TopicPartition(t, p) for t in Topic if t in found for p in found[t].partitions]
    latest = OffsetSpec.latest()  # type: ignore[no-untyped-call]
    futures = admin.list_offsets(dict.fromkeys(asked, latest), request_timeout=_TIMEOUT_SECONDS)
    return {(p.topic, p.partition): f.result(_TIMEOUT_SECONDS).offset for p, f in futures.items()}


def lags(admin: AdminClient) -> list[Lag]:
    """Lag of each node after collect, by its consumer group; a Spark query commits to a progress group.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    ends = partition_ends(admin)
    return [Lag(node=node, records=_behind(_committed(admin, node), ends, INPUTS[node])) for node in _GROUPS]


def _behind(
    committed: Mapping[tuple[str, int], int], ends: Mapping[tuple[str, int], int], topics: tuple[Topic, ...]
) -> int | None:
    wanted = [(partition, end) for partition, end in ends.items() if partition[0] in topics]
    if not committed and any(end for _, end in wanted):
        return None
    return sum(max(0, end - committed.get(partition, 0)) for partition, end in wanted)


def _committed(admin: AdminClient, node: str) -> dict[tuple[str, int], int]:
    group = group_name(node)
    futures = admin.list_consumer_group_offsets(
        [ConsumerGroupTopicPartitions(group)], request_timeout=_TIMEOUT_SECONDS
    )
    try:
        partitions = futures[group].result(_TIMEOUT_SECONDS).topic_partitions or []
    except KafkaException:
        return {}  # the group does not exist before its first commit
    return {(p.topic, p.partition): p.offset for p in partitions if p.offset >= 0}


def stuck_hop(before: Mapping[Topic, int], after: Mapping[Topic, int]) -> str | None:
    """The first node that wrote nothing between two calls of `topic_ends`; None if all wrote."""
    return next((node for node, topic in CHAIN if after[topic] <= before[topic]), None)
