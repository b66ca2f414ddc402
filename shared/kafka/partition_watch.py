"""Notices partitions that a topic gets while it is read."""

import time
from collections.abc import Collection
from typing import Final

from confluent_kafka import Consumer, KafkaException
from confluent_kafka.admin import AdminClient

from shared.contracts.topics import Topic

_LOOK_SECONDS: Final = 10.0
_TRY_SECONDS: Final = 5.0


class PartitionWatch:
    """Belongs to one thread."""

    def __init__(self, topic: Topic) -> None:
        self._topic = topic
        self._looked = time.monotonic()

    def unread(self, client: Consumer | AdminClient, read: Collection[int]) -> set[int]:
        """Partitions that are not among those `read`; none if the last look was less than ten seconds ago."""
        if time.monotonic() - self._looked < _LOOK_SECONDS:
            return set()
        self._looked = time.monotonic()
        try:
            found = client.list_topics(self._topic, timeout=_TRY_SECONDS).topics[self._topic].partitions
        except KafkaException:
            return set()
        return set(found).difference(read)
