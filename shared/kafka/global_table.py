"""A compacted topic as a table in memory, kept up to date by a background thread."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Final, Generic, TypeVar

from confluent_kafka import Consumer, KafkaException, Message, TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.background_reader import POLL_SECONDS, BackgroundReader, is_end, reader_config
from shared.kafka.newest_offsets import NewestOffsets
from shared.kafka.recreation_watch import RecreationWatch
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)
_LOOK_SECONDS: Final = 5.0
_MOST_MESSAGES: Final = 500


class GlobalTable(BackgroundReader, Generic[T]):
    """The latest value of each key, with a view that is rebuilt at each change.

    It is loaded once it has been read to the end that the topic had at the start, and is complete. While the
    brokers are unavailable it keeps what it has, and while a new consumer reads the topic again the view is
    the one from before. A topic that was deleted and made again is read on top of the old content. What the
    new topic lacks is dropped once that is complete. A value that cannot be decoded is logged and the former
    one kept.
    """

    def __init__(  # noqa: PLR0913  # what to read, and what to make of it
        self,
        *,
        bootstrap: str,
        client_id: str,
        topic: Topic,
        decode: Callable[[bytes], Any],
        view: Callable[[Mapping[bytes, Any]], T],
        used: Callable[[int], None] = lambda _: None,
        complete_key: bytes | None = None,
    ) -> None:
        """Read a topic.

        Args:
            bootstrap: the brokers.
            client_id: who reads.
            topic: a compacted one.
            decode: of a value.
            view: made of the decoded values at each change.
            used: called on the thread some times a second, once loaded, with the `position`.
            complete_key: of the record which says that the topic has everything: the table waits for it.
                Without one, a topic that was read to its end is complete, and old content is never dropped.
        """
        super().__init__(name=f"table-{topic}", config=reader_config(bootstrap, client_id))
        self._topic = topic
        self._decode = decode
        self._make_view = view
        self._values: dict[bytes, Any] = {}
        self._view = view({})
        self._position = self._read_to = 0
        self._moved = threading.Condition()
        """Notifies of a new position."""

        self._offsets = NewestOffsets()
        self._used, self._complete_key = used, complete_key
        self._unread: set[int] = set()
        """Partitions still to be read to the end."""

        self._reached: dict[int, int] = {}
        """Where an unread partition seemed to end; its leader has not been asked yet."""

        self._found: set[bytes] | None = None
        """Keys that the topic has, read since it was assigned; None once the table has no others."""

        self._outdated = False
        """Whether there are changes of which no view was made."""

        self._looked = 0.0
        self._recreation = RecreationWatch(bootstrap, client_id, topic)

    @property
    def view(self) -> T:
        """The current view. The object is replaced, never changed."""
        return self._view

    @property
    def position(self) -> int:
        """The offset up to which, itself excluded, the view holds everything. For one partition."""
        return self._position

    def wait_for(self, position: int, seconds: float) -> bool:
        """Block until the view holds everything before that offset; False if that took longer."""
        with self._moved:
            return self._moved.wait_for(lambda: self._position >= position, seconds)

    def offset(self, key: bytes) -> int:
        """The offset of a key's newest record, perhaps its deletion; -1 if none was read.

        Only for topics with one partition. After many later deletions it is one of theirs: see NewestOffsets.
        """
        return self._offsets.of(key)

    def _turn(self, consumer: Consumer) -> bool:
        """Read until the topic is deleted; then keep the table and wait for a new topic of that name.

        The old consumer may not notice the new topic, or go on at an offset of the old one, so a new consumer
        is needed.
        """
        messages = consumer.consume(num_messages=_MOST_MESSAGES, timeout=POLL_SECONDS)
        self._take(messages, self._ended(consumer, messages))
        if time.monotonic() - self._looked > _LOOK_SECONDS:
            if self._deleted(consumer):
                _log.warning(
                    "topic is gone: it was deleted; keeping the last values", extra={"topic": self._topic}
                )
                return False
            self._looked = time.monotonic()
        if self._recreation.made_again():
            _log.warning(
                "topic is gone: it was deleted and made again; reading the new one",
                extra={"topic": self._topic},
            )
            return False
        if self.loaded:
            self._used(self._position)
        return True

    def _deleted(self, consumer: Consumer) -> bool:
        """Whether the topic was deleted, which the consumer itself does not report."""
        try:
            return not consumer.list_topics(self._topic, timeout=_LOOK_SECONDS).topics[self._topic].partitions
        except KafkaException:
            return False

    def _assign(self, consumer: Consumer) -> bool:
        """Assign every partition from its beginning."""
        self._recreation.made_again()  # or not: it is read from its beginning in any case
        try:
            found = consumer.list_topics(self._topic, timeout=_LOOK_SECONDS).topics[self._topic].partitions
        except KafkaException as error:
            _log.warning("topic metadata not available; retrying", extra={"error": str(error)})
            return False
        if found:
            self._offsets, self._position, self._read_to = NewestOffsets(), 0, 0
            consumer.assign([TopicPartition(self._topic, p, 0) for p in found])
            self._unread, self._reached, self._found = set(found), {}, set()
            self._looked = time.monotonic()
        return bool(found)

    def _ended(self, consumer: Consumer, messages: list[Message]) -> set[int]:
        """Unread partitions of which these messages hold the rest, by the word of their leaders.

        A leader that has just started serves records up to the high watermark on its disk, which may be
        seconds old. Asked for the end, it refuses until it knows it (KIP-207). If that is further, the
        consumer reports another one once it has read on.
        """
        ends = ((m.partition() or 0, m.offset() or 0) for m in messages if is_end(m))
        self._reached |= {partition: end for partition, end in ends if partition in self._unread}
        ended = set[int]()
        for partition, end in [*self._reached.items()]:
            at = TopicPartition(self._topic, partition)
            try:
                last = retained_offsets(consumer, at, seconds=_LOOK_SECONDS).end
            except KafkaException as error:
                _log.warning("end of the topic not known; retrying", extra={"error": str(error)})
                break
            del self._reached[partition]
            if end >= last:
                ended.add(partition)
        return ended

    def _take(self, messages: list[Message], ended: set[int]) -> None:
        changed = [self._apply(message) for message in messages if message.error() is None]
        self._outdated = self._outdated or any(changed)
        self._read_to = max([self._read_to, *(_end_of(message) for message in messages)])
        was_unread = bool(self._unread)
        self._unread -= ended
        self._outdated = self._drop_old() or self._outdated
        if not (self.loaded and self._unread):
            if self._outdated:
                self._view, self._outdated = self._make_view(self._values), False
            with self._moved:  # after the view: whoever reads both has a view at least as new
                self._position = self._read_to
                self._moved.notify_all()
        complete = self._complete_key is None or self._complete_key in self._values
        if was_unread and not self._unread and not complete:
            _log.warning("topic lacks a part; waiting for its writer", extra={"topic": self._topic})
        if not self.loaded and not self._unread and complete:
            self._loaded.set()

    def _drop_old(self) -> bool:
        """Drop what the topic lacks, once it says itself that it has everything; True if there was any.

        What was deleted before a new topic was filled has no deletion there.
        """
        if self._unread or self._found is None or self._complete_key not in self._found:
            return False
        old = self._values.keys() - self._found
        for key in old:
            del self._values[key]
        self._found = None
        return bool(old)

    def _apply(self, message: Message) -> bool:
        key, value = message.key() or b"", message.value()
        self._offsets.note(key, message.offset() or 0, deleted=value is None)
        if self._found is not None:
            (self._found.discard if value is None else self._found.add)(key)
        if value is None:
            return self._values.pop(key, None) is not None
        try:
            self._values[key] = self._decode(value)
        except Exception as error:  # a bad record must not stop the table
            _log.error("record ignored: it cannot be decoded", extra={"key": repr(key), "error": str(error)})
            return False
        return True


def _end_of(message: Message) -> int:
    """The offset after a message; that of an end is the end's."""
    offset = message.offset() or 0
    if message.error() is None:
        return offset + 1
    return offset if is_end(message) else 0


class ExactTable(GlobalTable[T]):
    """The topic's content as it is now, for one who repairs it: of a deleted topic nothing is kept.

    It is not loaded while a topic is read for the first time, or again by a new consumer.
    """

    def _assign(self, consumer: Consumer) -> bool:
        self._loaded.clear()
        self._values = {}
        self._view = self._make_view({})
        return super()._assign(consumer)
