"""Follows a topic from its end on, on a background thread, without a consumer group."""

from collections.abc import Callable
from typing import Final

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.background_reader import BackgroundReader, poll_all, reader_config
from shared.kafka.partition_watch import PartitionWatch
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_TRY_SECONDS: Final = 5.0
_MOST_MESSAGES: Final = 1_000
_MOST_BEHIND: Final = 50_000
"""Records of a partition that wait to be read; with more, it goes on at the end."""


class NewRecords(BackgroundReader):
    """Calls `take` with every record that is written after `loaded`.

    It never falls far behind: then it leaves records out, and calls `skipped`. Both are called on the thread.
    """

    def __init__(
        self,
        *,
        bootstrap: str,
        client_id: str,
        topic: Topic,
        take: Callable[[list[Message]], None],
        skipped: Callable[[], None],
    ) -> None:
        bounds = {
            "auto.offset.reset": "latest",
            "queued.max.messages.kbytes": 8 * 1024,
            "fetch.message.max.bytes": 256 * 1024,
        }
        super().__init__(name=f"new-{topic}", config=reader_config(bootstrap, client_id) | bounds)
        self._topic, self._take, self._skipped = topic, take, skipped
        self._watch = PartitionWatch(topic)
        self._read: set[int] = set()
        """Partitions."""

    def _assign(self, consumer: Consumer) -> bool:
        """Assign every partition from its end; False if the brokers do not answer."""
        try:
            found = consumer.list_topics(self._topic, timeout=_TRY_SECONDS).topics[self._topic].partitions
            places = [TopicPartition(self._topic, partition) for partition in found]
            for place in places:
                place.offset = retained_offsets(consumer, place, seconds=_TRY_SECONDS).end
        except KafkaException as error:
            _log.warning("end of the topic not available; retrying", extra={"error": str(error)})
            return False
        if places:
            consumer.assign(places)
            self._read = set(found)
            self._loaded.set()
        return bool(places)

    def _turn(self, consumer: Consumer) -> bool:
        messages = [each for each in poll_all(consumer, _MOST_MESSAGES) if each.error() is None]
        if messages:
            self._take(messages)
        if len(messages) > _MOST_MESSAGES and self._is_behind(consumer):
            _log.warning("reading is too slow; going on at the end", extra={"topic": self._topic})
            self._skipped()
            return False
        self._read_too(consumer, self._watch.unread(consumer, self._read))
        return True

    def _read_too(self, consumer: Consumer, partitions: set[int]) -> None:
        """Read partitions that the topic did not have, from their beginning: all in them is new."""
        if partitions:
            consumer.incremental_assign([TopicPartition(self._topic, each, 0) for each in partitions])
            self._read |= partitions

    @staticmethod
    def _is_behind(consumer: Consumer) -> bool:
        """Whether many records wait, as far as the last fetches said."""
        for at in consumer.position(consumer.assignment()):
            known = consumer.get_watermark_offsets(at, cached=True)
            if known is not None and at.offset >= 0 and known[1] - at.offset > _MOST_BEHIND:
                return True
        return False
