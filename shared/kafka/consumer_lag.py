"""Topic ends, times of first records, and consumer lag of a side's nodes."""

import time
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

from confluent_kafka import TopicPartition
from confluent_kafka.admin import AdminClient
from confluent_kafka.admin._listoffsets import ListOffsetsResultInfo, OffsetSpec  # where mypy sees them

from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_GROUPS, INPUTS, MAIN_OUTPUTS, METERING_NODE
from shared.kafka.group_positions import committed_offsets
from shared.kafka.moving_leaders import asked_again
from shared.kafka.progress_group import group_name

_TIMEOUT_SECONDS: Final = 10.0
_PATIENCE_SECONDS: Final = 2 * _TIMEOUT_SECONDS  # or the wait ends before the client says why there is none

CHAIN: Final = (
    ("collect", Topic.COLLECTED),
    *((node, MAIN_OUTPUTS[node]) for node in ("ingest", "route", "transmit")),
)
"""Each node and the topic it writes to, in the order an event passes them."""

_GROUPS: Final = (*CHAIN_GROUPS, METERING_NODE)


_Offsets = Mapping[tuple[str, int], int]


@dataclass(frozen=True, kw_only=True)
class Lag:
    """A node's consumer lag."""

    node: str
    records: int | None
    """Records it has not read yet; None if it has committed no offset yet."""

    ahead: int = 0
    """Records that its topics hold beyond what it has committed: all of them if that is nothing."""


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
    return _offsets(admin, OffsetSpec.latest())  # type: ignore[no-untyped-call]


def first_times(admin: AdminClient) -> dict[tuple[str, int], int]:
    """Time of the first record of each (topic, partition) of hifi's topics, epoch milliseconds; -1 if empty.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    since_ever: OffsetSpec = OffsetSpec.for_timestamp(0)
    return {place: found.timestamp for place, found in _listed(admin, since_ever).items()}


def _offsets(admin: AdminClient, which: OffsetSpec) -> dict[tuple[str, int], int]:
    return {place: found.offset for place, found in _listed(admin, which).items()}


def _listed(admin: AdminClient, which: OffsetSpec) -> dict[tuple[str, int], ListOffsetsResultInfo]:
    return asked_again(lambda: _asked(admin, which), time.monotonic() + _TIMEOUT_SECONDS)


def _asked(admin: AdminClient, which: OffsetSpec) -> dict[tuple[str, int], ListOffsetsResultInfo]:
    found = admin.list_topics(timeout=_TIMEOUT_SECONDS).topics
    asked = [TopicPartition(t, p) for t in Topic if t in found for p in found[t].partitions]
    futures = admin.list_offsets(dict.fromkeys(asked, which), request_timeout=_TIMEOUT_SECONDS)
    return {(p.topic, p.partition): f.result(_PATIENCE_SECONDS) for p, f in futures.items()}


def lags(admin: AdminClient) -> list[Lag]:
    """Lag of each node after collect, by its consumer group; a Spark query commits to a progress group.

    A record that is on its way is in at least one of them. A node commits what it has written on, so at any
    moment each record stands uncommitted in some topic. All commits are read before one moment and all ends
    after it: no commit is too high, no end too low. With the ends first, a record that moves on in between
    would be in none: below the commit of its old topic and beyond the end of its new one.

    Deleted records count for no node: a side that stood still beyond its topics' retention would otherwise
    show them as lag until it commits something newer.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    committed = {node: committed_offsets(admin, group_name(node)) for node in _GROUPS}
    firsts = _offsets(admin, OffsetSpec.earliest())  # type: ignore[no-untyped-call]
    ends = partition_ends(admin)
    held = {place: (firsts.get(place, 0), end) for place, end in ends.items()}
    return [_lag(node, committed[node], held) for node in _GROUPS]


def _lag(node: str, committed: _Offsets, held: Mapping[tuple[str, int], tuple[int, int]]) -> Lag:
    """The lag of a node; `held` has the first retained offset and the end of each partition."""
    wanted = [(place, first, end) for place, (first, end) in held.items() if place[0] in INPUTS[node]]
    ahead = sum(max(0, end - max(first, committed.get(place, 0))) for place, first, end in wanted)
    return Lag(node=node, records=ahead if committed or not ahead else None, ahead=ahead)


def stuck_hop(before: Mapping[Topic, int], after: Mapping[Topic, int]) -> str | None:
    """The first node that wrote nothing between two calls of `topic_ends`; None if all wrote."""
    return next((node for node, topic in CHAIN if after[topic] <= before[topic]), None)
