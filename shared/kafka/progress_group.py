"""A Spark query's offsets, told to Kafka: they live in its checkpoint, hidden from lag tools and KEDA.

The group only shows; nothing starts from it.
"""

from collections.abc import Iterable, Mapping
from typing import Any, Final

import msgspec
from confluent_kafka import Consumer, KafkaError, KafkaException, TopicPartition

from shared.kafka.background_reader import reader_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_ANSWER_SECONDS: Final = 2.0


def group_name(node: str) -> str:
    """The group in which a node's progress can be seen."""
    return f"hifi.{node}"


def progress_offsets(progress: Mapping[str, Any] | None) -> list[TopicPartition]:
    """The next offsets a query will read, from its last StreamingQueryProgress; none before its first."""
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
    """Commits one node's progress to its shadow group."""

    def __init__(self, bootstrap: str, node: str) -> None:
        self._group = group_name(node)
        # Not an AdminClient: its request ends the whole process, by an assertion in librdkafka 2.16, when two
        # of three brokers die while it waits for the group's coordinator.
        config = reader_config(bootstrap, f"shadow-{node}") | {"group.id": self._group}
        self._consumer = Consumer(config, logger=_log)

    def show(self, offsets: list[TopicPartition]) -> None:
        """Commit; a failure is logged and the next call mends it."""
        self._consumer.poll(0)  # its own log lines come this way
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            _log.warning("progress not shown", extra={"group": self._group, "error": str(error)})

    def ends(self, offsets: Iterable[TopicPartition]) -> list[TopicPartition]:
        """Where those partitions end; none of them where the brokers do not say."""
        try:
            return [TopicPartition(at.topic, at.partition, self._end(at)) for at in offsets]
        except KafkaException as error:
            _log.warning("ends not known", extra={"group": self._group, "error": str(error)})
            return []

    def _end(self, at: TopicPartition) -> int:
        found = self._consumer.get_watermark_offsets(at, timeout=_ANSWER_SECONDS)
        if found is None:
            raise KafkaException(KafkaError(KafkaError._TIMED_OUT))
        return int(found[1])
