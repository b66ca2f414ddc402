"""Commits a Spark query's offsets to a consumer group, so that lag tools and KEDA see its progress.

The query itself starts from its checkpoint, never from the group.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 2.0


def group_name(node: str) -> str:
    """The consumer group that shows a node's progress."""
    return f"hifi.{node}"


def progress_offsets(progress: Mapping[str, Any] | None) -> list[TopicPartition]:
    """The next offsets a query reads, from its last StreamingQueryProgress; empty before the first one."""
    sources: Iterable[Mapping[str, Any]] = (progress or {}).get("sources", ())
    return [
        TopicPartition(topic, int(partition), offset)
        for source in sources
        for topic, partitions in _offsets(source.get("endOffset")).items()
        for partition, offset in partitions.items()
    ]


def _offsets(end: object) -> dict[str, dict[str, int]]:
    """Spark gives the source's offset as JSON text, or as the mapping itself."""
    found = msgspec.json.decode(end) if isinstance(end, str) else end
    return msgspec.convert(found or {}, dict[str, dict[str, int]])


class ProgressGroup:
    """Commits one node's progress to its group."""

    def __init__(self, bootstrap: str, node: str) -> None:
        self._group = group_name(node)
        # Not an AdminClient: its request ends the whole process, by an assertion in librdkafka 2.16, when two
        # of three brokers die while it waits for the group's coordinator.
        config = reader_config(bootstrap, f"progress-group-{node}") | {"group.id": self._group}
        self._consumer = Consumer(config, logger=_log)

    def show(self, offsets: list[TopicPartition]) -> None:
        """Commit the progress; after a failure, which is logged, the next call commits everything."""
        self._handle_log_lines()
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            _log.warning(
                "progress not committed; retrying with the next batch",
                extra={"group": self._group, "error": str(error)},
            )

    def committed(self, topics: Iterable[str]) -> list[TopicPartition]:
        """The progress that was committed last, by whichever process; empty if the brokers do not answer.

        Partitions without any are left out.
        """
        self._handle_log_lines()
        try:
            partitions = [
                TopicPartition(topic, partition)
                for topic in topics
                for partition in self._consumer.list_topics(topic, timeout=_ANSWER_SECONDS)
                .topics[topic]
                .partitions
            ]
            found = self._consumer.committed(partitions, timeout=_ANSWER_SECONDS) if partitions else []
            return [at for at in found if at.offset >= 0]
        except KafkaException as error:
            _log.warning(
                "committed progress not read: the brokers did not answer",
                extra={"group": self._group, "error": str(error)},
            )
            return []

    def ends(self, offsets: Iterable[TopicPartition]) -> list[TopicPartition]:
        """The ends of partitions; empty if the brokers do not answer."""
        try:
            return [TopicPartition(at.topic, at.partition, self._end(at)) for at in offsets]
        except KafkaException as error:
            _log.warning(
                "ends of partitions not read: the brokers did not answer",
                extra={"group": self._group, "error": str(error)},
            )
            return []

    def _handle_log_lines(self) -> None:
        self._consumer.poll(0)  # librdkafka keeps its log lines and errors until then

    def _end(self, at: TopicPartition) -> int:
        return retained_offsets(self._consumer, at, seconds=_ANSWER_SECONDS).end
