"""A Spark query's offsets, told to Kafka: they live in its checkpoint, hidden from lag tools and KEDA.

The group only shows; nothing starts from it.
"""

from collections.abc import Iterable, Mapping
from typing import Any

import msgspec
from confluent_kafka import ConsumerGroupTopicPartitions, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient

from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_TIMEOUT_SECONDS = 5.0


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
        self._admin = AdminClient({"bootstrap.servers": bootstrap, "client.id": f"shadow-{node}"})

    def show(self, offsets: list[TopicPartition]) -> None:
        """Commit; a failure is logged and the next call mends it."""
        if not offsets:
            return
        request = ConsumerGroupTopicPartitions(self._group, offsets)
        try:
            futures = self._admin.alter_consumer_group_offsets([request], request_timeout=_TIMEOUT_SECONDS)
            futures[self._group].result(_TIMEOUT_SECONDS)
        except (KafkaException, TimeoutError) as error:
            _log.warning("progress not shown", extra={"group": self._group, "error": str(error)})
