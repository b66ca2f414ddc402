"""Where the queries and groups of a side stand, by its checkpoints and its brokers.

A query without a checkpoint begins with the first records of its topics, so that is where it stands: the
first release to a new side can go back there. A query's group shows how far it is. One that has committed
nothing counts as standing with its query, or the lag after a replay would be that of the version before.

Checkpoints outlive a side that is destroyed. Once the side is rebuilt they point beyond the end of its
topics, or to topics that do not exist yet, and are ignored. The query ignores them too (`resumed` in
shared/spark/starting_offsets.py) and begins with the first records. Taken at face value they would look like
progress that a version has lost, and undoing that version would send all of its events again.
"""

from collections.abc import Iterable, Mapping
from typing import Protocol

from pipelines.control.backends.checkpoints import (
    CheckpointStore,
    Offsets,
    query_positions,
    readable_positions,
    without_checkpoint,
)
from shared.contracts.releases import Positions
from shared.contracts.topology import INPUTS
from shared.kafka.admin import admin_client
from shared.kafka.group_positions import group_positions
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.kafka.progress_group import group_name


class Brokers(Protocol):
    """Offsets as a side's brokers know them. Methods raise KafkaException if they do not answer."""

    def held(self, topics: Iterable[str]) -> Mapping[str, OffsetRange]:
        """By `topic/partition`, which records these topics hold; of one that does not exist there is none."""
        ...

    def committed(self) -> dict[str, Offsets]:
        """Where each group of the side stands; groups that have committed nothing are missing."""
        ...


class SideBrokers:
    """The brokers of one side."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def held(self, topics: Iterable[str]) -> Mapping[str, OffsetRange]:
        """By `topic/partition`, which records these topics hold; of one that does not exist there is none."""
        with OffsetRangeReader(self._bootstrap, "hifi-positions", seconds=10.0) as reader:
            return {f"{each.topic}/{each.partition}": each for each in reader.whole(topics)}

    def committed(self) -> dict[str, Offsets]:
        """Where each group of the side stands; groups that have committed nothing are missing."""
        return group_positions(admin_client(self._bootstrap), map(group_name, INPUTS))


def side_positions(brokers: Brokers, checkpoints: CheckpointStore) -> Positions:
    """Where a side would go on.

    Raises:
        ValueError: if a checkpoint cannot be read.
        OSError: likewise.
        KafkaException: if the brokers do not answer.
    """
    return _positions(brokers, checkpoints, query_positions(checkpoints))


def readable_side_positions(brokers: Brokers, checkpoints: CheckpointStore) -> Positions:
    """Like `side_positions`, but skips queries with a checkpoint that cannot be decoded.

    Raises:
        OSError: if the files cannot be had.
        KafkaException: if the brokers do not answer.
    """
    return _positions(brokers, checkpoints, readable_positions(checkpoints))


def _positions(brokers: Brokers, checkpoints: CheckpointStore, found: dict[str, Offsets]) -> Positions:
    new = without_checkpoint(checkpoints)
    # After the checkpoints were read: the end of a topic only rises.
    held = brokers.held({*_topics(found.values()), *(topic for query in new for topic in INPUTS[query])})
    queries = {query: _first(held, INPUTS[query]) for query in new}
    queries |= {query: _goes_on(offsets, held) for query, offsets in found.items()}
    queries = {query: offsets for query, offsets in queries.items() if offsets}
    shown = {group_name(query): offsets for query, offsets in queries.items()}
    return Positions(queries=queries, groups=shown | brokers.committed())


def _first(held: Mapping[str, OffsetRange], topics: Iterable[str]) -> Offsets:
    asked = set(topics)
    return {name: each.start for name, each in held.items() if each.topic in asked}


def _goes_on(checkpointed: Offsets, held: Mapping[str, OffsetRange]) -> Offsets:
    """Where a query with this checkpoint goes on; empty if none of its topics exists.

    An offset before the first record stays: what is gone is reported when the query starts. So does one of a
    partition that the brokers do not know yet.
    """
    topics = {each.topic for each in held.values()}
    return {
        name: held[name].start if name in held and offset > held[name].end else offset
        for name, offset in checkpointed.items()
        if _topic(name) in topics
    }


def _topics(found: Iterable[Offsets]) -> set[str]:
    return {_topic(name) for offsets in found for name in offsets}


def _topic(name: str) -> str:
    return name.rpartition("/")[0]
