"""Finds where audit starts without a checkpoint: where the ledger ends, so that nothing is tallied twice."""

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition
from pyspark.sql import SparkSession

from shared.contracts.replay_range import Offsets
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings
from shared.spark.starting_offsets import (
    ANSWER_SECONDS,
    EARLIEST,
    Checkpoint,
    offsets_of_topics,
    resumed,
    starting_offsets,
)

_log = get_logger(__name__)

BLOCK: Final = 2_000
"""Records of the ledger that are read at once, from its end backwards."""

Partition = tuple[str, str]
"""Topic and partition, as Spark writes them."""


class _Head(msgspec.Struct):
    """The part of a `ledger.Range` that shows where it ends."""

    topic: str
    partition: int
    end: int
    part: int = 0
    parts: int = 1


_decoder = msgspec.msgpack.Decoder(_Head)


def uncovered_offsets(spark: SparkSession, settings: SparkSettings, node: str, *topics: Topic) -> str:
    """The offsets of `starting_offsets`, or the end of what the ledger covers if that is further.

    Raises:
        KafkaException: if the brokers do not answer.
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

    Args:
        bootstrap: the brokers.
        ends: the end of each partition.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    covered: dict[Partition, int] = {}
    consumer = Consumer(reader_config(bootstrap, "hifi-audit-start"), logger=_log)
    try:
        for block in _blocks(consumer):
            covered = _furthest((*covered.items(), *covered_by(block, ends).items()))
            if covered.keys() >= ends.keys():
                break
    finally:
        consumer.close()
    return covered


def covered_by(values: Iterable[bytes], ends: Mapping[Partition, int]) -> dict[Partition, int]:
    """How far these records of the ledger cover partitions with these ends.

    The furthest range counts, not the last: a range that is read again after a crash is written after those
    that go further. One beyond a partition's end is of a topic that was recreated since. A range in several
    parts is complete once its last part is there: they are written in order. What is no range covers nothing.
    """
    heads = _heads(values)
    whole = (((head.topic, str(head.partition)), head.end) for head in heads if head.part == head.parts - 1)
    return _furthest((place, end) for place, end in whole if end <= ends.get(place, 0))


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


def _blocks(consumer: Consumer) -> Iterator[list[bytes]]:
    """The ledger's values, a block at a time, the last block first."""
    first, end = retained_offsets(consumer, TopicPartition(Topic.LEDGER, 0), seconds=ANSWER_SECONDS)
    while end > first:
        begin = max(first, end - BLOCK)
        yield list(_values(consumer, begin, end))
        end = begin


def _values(consumer: Consumer, begin: int, end: int) -> Iterator[bytes]:
    consumer.assign([TopicPartition(Topic.LEDGER, 0, begin)])
    while True:
        messages = consumer.consume(num_messages=BLOCK, timeout=ANSWER_SECONDS)
        if not messages:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT, "the topic ledger cannot be read"))
        for message in messages:
            error = message.error()
            if error is None and (message.offset() or 0) < end:
                yield message.value() or b""
            elif error is None or error.code() == KafkaError._PARTITION_EOF:
                return
            else:
                raise KafkaException(error)


def _further(known: Offsets, covered: Mapping[Partition, int]) -> Offsets:
    """The larger of the two offsets, by partition."""
    merged = {topic: dict(partitions) for topic, partitions in known.items()}
    for (topic, partition), end in covered.items():
        partitions = merged.setdefault(topic, {})
        partitions[partition] = max(end, partitions.get(partition, 0))
    return merged
