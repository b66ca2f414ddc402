"""Finds where audit starts without a checkpoint: where the ledger ends, so that nothing is tallied twice."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from confluent_kafka import KafkaError, KafkaException
from pyspark.sql import SparkSession

from shared.contracts.replay_range import Offsets
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import first_times
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings
from shared.spark.checkpoint import Checkpoint
from shared.spark.starting_offsets import (
    ANSWER_SECONDS,
    EARLIEST,
    offsets_of_topics,
    resumed,
    starting_offsets,
)

_log = get_logger(__name__)

BLOCK: Final = 2_000
"""Records of the ledger that are read at once, from its end backwards."""

_AHEAD_BYTES: Final = 4 * 1024 * 1024
"""Fetched before it is read: behind the end of a block it is of no use."""

_CLOCKS_MS: Final = 60_000
"""How far the clocks of those who write records and those who tally them may differ."""

Partition = tuple[str, str]
"""Topic and partition, as Spark writes them."""


class _Head(msgspec.Struct):
    """The part of a `ledger.Range` that shows where it ends."""

    topic: str
    partition: int
    end: int
    newest_ms: int
    part: int = 0
    parts: int = 1

    @property
    def place(self) -> Partition:
        return self.topic, str(self.partition)

    @property
    def whole(self) -> bool:
        """Whether it is the last part of its range."""
        return self.part == self.parts - 1


_decoder = msgspec.msgpack.Decoder(_Head)


def uncovered_offsets(spark: SparkSession, settings: SparkSettings, node: str, *topics: Topic) -> str:
    """The offsets of `starting_offsets`, or the end of what the ledger covers if that is further.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
    """
    starting = starting_offsets(spark, settings, node, *topics)
    if settings.rehearsal or Checkpoint(spark, settings, node).offsets():
        return starting
    there = offsets_of_topics(settings.bootstrap, topics)
    ends = {place: held.end for place, held in there.items() if held.end > held.first}
    covered = covered_offsets(settings.bootstrap, ends)
    known: Offsets = {} if starting == EARLIEST else json.loads(starting)
    return json.dumps(resumed(_further(known, covered), there)[0])


def covered_offsets(bootstrap: str, ends: Mapping[Partition, int]) -> Mapping[Partition, int]:
    """The offset up to which the ledger covers each of these partitions; uncovered ones are left out.

    It is read backwards until all are covered, or to where none of the others had a record yet.

    Args:
        bootstrap: the brokers.
        ends: the end of each partition.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
    """
    covered: dict[Partition, int] = {}
    first_ms = _first_ms(bootstrap)
    with OffsetRangeReader(
        bootstrap, "hifi-audit-start", seconds=ANSWER_SECONDS, ahead_bytes=_AHEAD_BYTES
    ) as reader:
        unread = _ledger(reader)
        while missing := ends.keys() - covered.keys():
            oldest_ms = min(first_ms.get(place, 0) for place in missing) - _CLOCKS_MS
            (unread,) = reader.since([unread], max(0, oldest_ms))
            if not unread.records:
                break
            block = unread._replace(start=max(unread.start, unread.end - BLOCK))
            values = (message.value() or b"" for message in reader.read([block]))
            covered = _furthest((*covered.items(), *covered_by(values, ends, first_ms).items()))
            unread = unread._replace(end=block.start)
    return covered


def covered_by(
    values: Iterable[bytes], ends: Mapping[Partition, int], first_ms: Mapping[Partition, int]
) -> dict[Partition, int]:
    """How far these records of the ledger cover partitions.

    The furthest range counts, not the last: a range that is read again after a crash is written after those
    that go further. A range in several parts is complete once its last part is there: they are written in
    order. What is no range covers nothing.

    A range of a topic that was recreated since counts neither: it goes beyond the partition's end, or all in
    it is older than the partition's first record.

    Args:
        values: of the ledger.
        ends: the end of each partition.
        first_ms: the time of each partition's first record, epoch milliseconds.
    """
    whole = (head for head in _heads(values) if head.whole and head.end <= ends.get(head.place, 0))
    return _furthest(
        (each.place, each.end) for each in whole if each.newest_ms >= first_ms.get(each.place, 0)
    )


def _heads(values: Iterable[bytes]) -> Iterator[_Head]:
    for value in values:
        try:
            yield _decoder.decode(value)
        except msgspec.DecodeError as error:
            _log.warning("a record of the ledger is no range: left out", extra={"error": str(error)})


def _furthest(found: Iterable[tuple[Partition, int]]) -> dict[Partition, int]:
    furthest: dict[Partition, int] = {}
    for place, end in found:
        furthest[place] = max(end, furthest.get(place, 0))
    return furthest


def _first_ms(bootstrap: str) -> dict[Partition, int]:
    times = first_times(admin_client(bootstrap))
    return {(topic, str(partition)): at_ms for (topic, partition), at_ms in times.items()}


def _ledger(reader: OffsetRangeReader) -> OffsetRange:
    found = reader.whole((Topic.LEDGER,))
    if not found:  # a broker that has just started may not know it yet
        raise KafkaException(KafkaError(KafkaError._UNKNOWN_TOPIC, "the topic ledger is not known"))
    return found[0]


def _further(known: Offsets, covered: Mapping[Partition, int]) -> Offsets:
    """The larger of the two offsets, by partition."""
    merged = {topic: dict(partitions) for topic, partitions in known.items()}
    for (topic, partition), end in covered.items():
        partitions = merged.setdefault(topic, {})
        partitions[partition] = max(end, partitions.get(partition, 0))
    return merged
