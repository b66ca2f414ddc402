"""Where a Spark query goes on: at its checkpoint, unless what that asks for is no longer there.

A side that stood still for longer than the topics keep records has checkpoints that point before their
beginning. Spark's micro-batches then fail at every start, and its real-time batches wait for ever.
"""

import json
from collections.abc import Mapping
from typing import Any, Final, NamedTuple

from confluent_kafka import Consumer, TopicPartition
from pyspark.sql import SparkSession

from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.runtime.clock import wall_clock
from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings

_log = get_logger(__name__)
ANSWER_SECONDS: Final = 10.0

EARLIEST: Final = "earliest"

Offsets = Mapping[str, Mapping[str, int]]
"""By topic and partition, as Spark's Kafka source writes them."""


class RetainedOffsets(NamedTuple):
    """What a partition holds."""

    first: int
    end: int


def starting_offsets(spark: SparkSession, settings: SparkSettings, node: str, *topics: Topic) -> str:
    """What a source starts from where its query has no checkpoint, in Spark's words.

    A checkpoint that cannot be used is set aside; what it has processed is not processed again.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    checkpoint = Checkpoint(spark, settings, node)
    usable, expired = resumed(checkpoint.offsets(), retained_offsets(settings.bootstrap, topics))
    if not expired:
        return EARLIEST
    for (topic, partition), records in expired.items():
        extra = {"node": node, "topic": topic, "partition": partition, "records": records}
        _log.error("records expired before they were read", extra=extra)
    checkpoint.set_aside()
    return json.dumps(usable)


def resumed(
    checkpointed: Offsets, retained_offsets: Mapping[tuple[str, str], RetainedOffsets]
) -> tuple[Offsets, Mapping[tuple[str, str], int]]:
    """The offsets to go on at, and how many records are gone by partition, 0 if its topic was made anew."""
    usable: dict[str, dict[str, int]] = {}
    gone: dict[tuple[str, str], int] = {}
    for (topic, partition), (first, end) in retained_offsets.items():
        at = checkpointed.get(topic, {}).get(partition, first)
        if not first <= at <= end:
            gone[topic, partition] = max(0, first - at)
        usable.setdefault(topic, {})[partition] = at if first <= at <= end else first
    return usable, gone


def retained_offsets(bootstrap: str, topics: tuple[Topic, ...]) -> dict[tuple[str, str], RetainedOffsets]:
    """What each partition of these topics holds.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    consumer = Consumer(reader_config(bootstrap, "hifi-resume"), logger=_log)
    try:
        known = consumer.list_topics(timeout=ANSWER_SECONDS).topics
        return {
            (topic.value, str(partition)): RetainedOffsets(
                *consumer.get_watermark_offsets(TopicPartition(topic, partition), timeout=ANSWER_SECONDS)
            )
            for topic in topics
            for partition in known[topic].partitions
        }
    finally:
        consumer.poll(0)  # its own log lines come this way
        consumer.close()


class Checkpoint:
    """A query's folder, wherever Hadoop's file systems reach."""

    def __init__(self, spark: SparkSession, settings: SparkSettings, node: str) -> None:
        self._jvm: Any = spark.sparkContext._jvm
        self._place = f"{settings.checkpoints}/{node}"
        configuration = spark.sparkContext._jsc.hadoopConfiguration()
        self._files = self._path("").getFileSystem(configuration)

    def offsets(self) -> Offsets:
        """Where the query would go on: after its last committed batch, or where it first began."""
        done = self._batches("offsets") & self._batches("commits")
        text = self._read(f"/offsets/{max(done)}") if done else self._read("/sources/0/0")
        found: Offsets = json.loads(text[text.rindex("\n{") :]) if text else {}
        return found

    def set_aside(self) -> None:
        """Rename the folder, so that the query begins without."""
        self._files.rename(self._path(""), self._path(f".expired-{wall_clock()}"))

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
