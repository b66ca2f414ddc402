"""Where a Spark query starts: at its checkpoint, unless those records have been deleted.

If a side stood still for longer than the retention of its topics, its checkpoints point before their
beginning. Spark's micro-batches would then fail at every start, and its real-time batches wait for ever.
"""

import json
from collections.abc import Mapping
from typing import Any, Final

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from shared.contracts.replay_range import REPLAY_FILE, Offsets, ReplayRange, decode_replay_range
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings

_log = get_logger(__name__)
ANSWER_SECONDS: Final = 10.0

_LEFT_AT: Final = ".left-at.json"
"""The end of the name of the file beside a checkpoint with offsets from before it was set aside."""

EARLIEST: Final = "earliest"
LATEST: Final = "latest"


def starting_offsets(spark: SparkSession, settings: SparkSettings, node: str, *topics: Topic) -> str:
    """The `startingOffsets` for a query without a usable checkpoint.

    A checkpoint that cannot be used is set aside; records that it has processed are not processed again. A
    rehearsal has no checkpoint yet, and reads what is written from now on.

    Raises:
        KafkaException: if the brokers do not answer.
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
    if known and expired:
        checkpoint.set_aside(usable)
    return json.dumps(usable) if expired or left else EARLIEST


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
) -> tuple[Offsets, Mapping[tuple[str, str], int]]:
    """The offsets to continue at, and how many records were deleted by partition, 0 for a recreated topic."""
    usable: dict[str, dict[str, int]] = {}
    gone: dict[tuple[str, str], int] = {}
    for (topic, partition), (first, end) in retained.items():
        at = checkpointed.get(topic, {}).get(partition, first)
        if not first <= at <= end:
            gone[topic, partition] = max(0, first - at)
        usable.setdefault(topic, {})[partition] = at if first <= at <= end else first
    return usable, gone


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


class Checkpoint:
    """The checkpoint folder of a query, on any of Hadoop's file systems."""

    def __init__(self, spark: SparkSession, settings: SparkSettings, node: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._place = f"{settings.checkpoints}/{node}"
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._files = self._path("").getFileSystem(configuration)

    def offsets(self) -> Offsets:
        """Where the query would continue: after its last committed batch, or where it first started."""
        done = self._batches("offsets") & self._batches("commits")
        text = self._read(f"/offsets/{max(done)}") if done else self._read("/sources/0/0")
        found: Offsets = json.loads(text[text.rindex("\n{") :]) if text else {}
        return found

    def replay(self) -> ReplayRange | None:
        """Which of the records before it are marked as processed again."""
        text = self._read(f"/{REPLAY_FILE}")
        return decode_replay_range(text) if text else None

    def left_at(self) -> Offsets:
        """Where the query goes on after its checkpoint was set aside, until it has a new one; else empty."""
        found: Offsets = json.loads(self._read(_LEFT_AT) or "{}")
        return found

    def set_aside(self, usable: Offsets) -> None:
        """Rename the folder, so that the query starts without a checkpoint, at these offsets.

        The offsets are written first, and read only once the folder is gone. So a query that ends before
        Spark has written its first offsets still starts at them, and not at the beginning of each partition.

        Raises:
            OSError: if the folder could not be renamed.
        """
        stream = self._files.create(self._path(_LEFT_AT), True)
        stream.write(json.dumps(usable).encode())
        stream.close()
        expired = self._path(f".expired-{wall_clock()}")
        if not self._files.rename(self._path(""), expired):
            raise OSError(f"{self._place} could not be renamed to {expired}")

    def _path(self, below: str) -> Any:
        return self._jvm.org.apache.hadoop.fs.Path(self._place + below)

    def _batches(self, log: str) -> set[int]:
        folder = self._path(f"/{log}")
        if not self._files.exists(folder):
            return set()
        names = {status.getPath().getName() for status in self._files.listStatus(folder)}
        return {int(name) for name in names if name.isdigit()}

    def _read(self, below: str) -> str:
        path = self._path(below)
        if not self._files.exists(path):
            return ""
        stream = self._files.open(path)
        try:
            return str(self._jvm.org.apache.commons.io.IOUtils.toString(stream, "UTF-8"))
        finally:
            stream.close()
