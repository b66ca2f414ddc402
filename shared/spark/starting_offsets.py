"""Where a Spark query starts: at its checkpoint, unless those records have been deleted.

If a side stood still for longer than the retention of its topics, its checkpoints point before their
beginning. Spark's micro-batches would then fail at every start, and its real-time batches wait for ever.
"""

import json
from collections.abc import Mapping
from typing import Final

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from shared.contracts.replay_range import Offsets, ReplayRange
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings
from shared.spark.checkpoint import Checkpoint

_log = get_logger(__name__)
ANSWER_SECONDS: Final = 10.0

EARLIEST: Final = "earliest"
LATEST: Final = "latest"

_Expired = Mapping[tuple[str, str], int]
"""How many records were deleted by partition, 0 for a recreated topic."""


def starting_offsets(spark: SparkSession, settings: SparkSettings, node: str, *topics: Topic) -> str:
    """The `startingOffsets` for a query without a usable checkpoint.

    A checkpoint that cannot be used is set aside; records that it has processed are not processed again, and
    a replay that it has not finished goes on. A rehearsal has no checkpoint yet, and reads what is written
    from now on.

    Raises:
        KafkaException: if the brokers do not answer.
        msgspec.MsgspecError: if the replay of a checkpoint that is set aside cannot be decoded.
    """
    if settings.rehearsal:
        return LATEST
    checkpoint = Checkpoint(spark, settings, node)
    known = checkpoint.offsets()
    left = {} if known else checkpoint.left_at()
    usable, expired = resumed(known or left, offsets_of_topics(settings.bootstrap, topics))
    for (topic, partition), records in expired.items():
        extra = {"node": node, "topic": topic, "partition": partition, "records": records}
        _log.error("records expired before they were read", extra=extra)
    if not expired and not left:
        return EARLIEST
    _begin_anew(checkpoint, usable, expired, has_one=bool(known))
    return json.dumps(usable)


def _begin_anew(checkpoint: Checkpoint, usable: Offsets, expired: _Expired, *, has_one: bool) -> None:
    """Let the next checkpoint begin at these offsets, with what is left of the replay of the former one."""
    replay = unfinished(checkpoint.replay() if has_one else checkpoint.left_replay(), usable, expired)
    if has_one:
        checkpoint.set_aside(usable, replay)
    if replay is not None:
        checkpoint.begin_with(replay)


def replay_left(spark: SparkSession, settings: SparkSettings, node: str) -> ReplayRange | None:
    """The range of records that a query has still to process again, and mark; None if there is none.

    Raises:
        msgspec.MsgspecError: if the file of the checkpoint that says it cannot be decoded.
    """
    checkpoint = Checkpoint(spark, settings, node)
    found = checkpoint.replay()
    return found if found is not None and found.left(checkpoint.offsets()) else None


def resumed(
    checkpointed: Offsets, retained: Mapping[tuple[str, str], RetainedOffsets]
) -> tuple[Offsets, _Expired]:
    """The offsets to continue at, and how many records were deleted by partition, 0 for a recreated topic."""
    usable: dict[str, dict[str, int]] = {}
    gone: dict[tuple[str, str], int] = {}
    for (topic, partition), (first, end) in retained.items():
        at = checkpointed.get(topic, {}).get(partition, first)
        if not first <= at <= end:
            gone[topic, partition] = max(0, first - at)
        usable.setdefault(topic, {})[partition] = at if first <= at <= end else first
    return usable, gone


def unfinished(replay: ReplayRange | None, usable: Offsets, expired: _Expired) -> ReplayRange | None:
    """The rest of a replay for a query that continues at these offsets; None if nothing is left of it."""
    if replay is None:
        return None
    rest = replay.without({place for place, records in expired.items() if not records})
    return rest if rest.left(usable) else None


def offsets_of_topics(bootstrap: str, topics: tuple[Topic, ...]) -> dict[tuple[str, str], RetainedOffsets]:
    """The offsets that each partition of these topics holds.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    consumer = Consumer(reader_config(bootstrap, "hifi-starting-offsets"), logger=_log)
    try:
        known = consumer.list_topics(timeout=ANSWER_SECONDS).topics
        return {
            (topic.value, str(partition)): retained_offsets(
                consumer, TopicPartition(topic, partition), seconds=ANSWER_SECONDS
            )
            for topic in topics
            for partition in known[topic].partitions
        }
    finally:
        consumer.poll(0)  # librdkafka's log lines are handled in poll
        consumer.close()
