"""Where the queries and groups of a side stand, by its checkpoints and its brokers.

A query without a checkpoint begins with the first records of its topics, so that is where it stands: the
first release to a new side can go back there. A query's group shows how far it is. One that has committed
nothing counts as standing with its query, or the lag after a replay would be that of the version before.
"""

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
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.kafka.progress_group import group_name


class Brokers(Protocol):
    """Offsets as a side's brokers know them. Methods raise KafkaException if they do not answer."""

    def first(self, query: str) -> Offsets:
        """The first offset that each partition of a query's topics holds."""
        ...

    def committed(self) -> dict[str, Offsets]:
        """Where each group of the side stands; groups that have committed nothing are missing."""
        ...


class SideBrokers:
    """The brokers of one side."""

    def __init__(self, bootstrap: str) -> None:
        self._bootstrap = bootstrap

    def first(self, query: str) -> Offsets:
        """The first offset that each partition of a query's topics holds."""
        with OffsetRangeReader(self._bootstrap, "hifi-positions", seconds=10.0) as reader:
            return {f"{each.topic}/{each.partition}": each.start for each in reader.whole(INPUTS[query])}

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
    """As `side_positions`, but leaves out queries with a checkpoint that cannot be decoded.

    Raises:
        OSError: if the files cannot be had.
        KafkaException: if the brokers do not answer.
    """
    return _positions(brokers, checkpoints, readable_positions(checkpoints))


def _positions(brokers: Brokers, checkpoints: CheckpointStore, found: dict[str, Offsets]) -> Positions:
    begins = {query: brokers.first(query) for query in without_checkpoint(checkpoints)}
    queries = found | {query: offsets for query, offsets in begins.items() if offsets}
    shown = {group_name(query): offsets for query, offsets in queries.items()}
    return Positions(queries=queries, groups=shown | brokers.committed())
