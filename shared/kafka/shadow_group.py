"""A Spark query's offsets, told to Kafka: they live in its checkpoint, hidden from lag tools and KEDA.

The group only shows; nothing starts from it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from confluent_kafka import Consumer, KafkaException, TopicPartition

from shared.kafka.table import reader_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)


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


class ShadowGroup:
    """Commits one node's progress to its shadow group."""

    def __init__(self, bootstrap: str, node: str) -> None:
        self._group = group_name(node)
        # Not an AdminClient: its request ends the whole process, by an assertion in librdkafka 2.16, when two
        # of three brokers die while it waits for the group's coordinator.
        self._consumer = Consumer(reader_config(bootstrap, f"shadow-{node}") | {"group.id": self._group})

    def show(self, offsets: list[TopicPartition]) -> None:
        """Commit; a failure is logged and the next call mends it."""
        if not offsets:
            return
        try:
            self._consumer.commit(offsets=offsets, asynchronous=False)
        except KafkaException as error:
            _log.warning("progress not shown", extra={"group": self._group, "error": str(error)})
