"""A compacted topic held in memory by a background thread: how configuration reaches every node."""

import threading
import time
from collections.abc import Callable, Mapping
from typing import Any, Generic, TypeVar

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition

from shared.contracts.topics import Topic
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)
_POLL_SECONDS = 0.2
_LOOK_SECONDS = 5.0


def reader_config(bootstrap: str, client_id: str) -> dict[str, Any]:
    """librdkafka settings of a reader that belongs to no group and commits nothing."""
    return client_config(bootstrap) | {
        "client.id": client_id,
        "group.id": f"{client_id}-unused",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "reconnect.backoff.max.ms": 1_000,
        "socket.timeout.ms": 10_000,
        "fetch.wait.max.ms": 500,
    }


def keep_reading(
    config: dict[str, Any], follow: Callable[[Consumer], None], stopping: threading.Event
) -> None:
    """Call `follow` with a consumer until stopping, and again with a new one when it returns or fails.

    An old consumer may not take up a new topic of the same name; and were the thread to end with a failure,
    its process would go on for ever with what it knew.
    """
    while not stopping.is_set():
        consumer = Consumer(config, logger=_log)
        try:
            follow(consumer)
        except Exception:
            _log.exception("reading failed, beginning anew", extra={"client": config["client.id"]})
            stopping.wait(_POLL_SECONDS)
        finally:
            consumer.close()


class Table(Generic[T]):
    """The latest value of each key of a topic, and a view of them rebuilt at each change.

    It is loaded once it was read to the end it had at the start, and goes on with what it has while the
    brokers cannot be reached. A value that cannot be decoded is logged and leaves the former one in place.
    """

    def __init__(
        self,
        *,
        bootstrap: str,
        client_id: str,
        topic: Topic,
        decode: Callable[[bytes], Any],
        view: Callable[[Mapping[bytes, Any]], T],
    ) -> None:
        self._config = reader_config(bootstrap, client_id)
        self._topic = topic
        self._decode = decode
        self._make_view = view
        self._values: dict[bytes, Any] = {}
        self._view = view({})
        self._loaded = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=f"table-{topic}", daemon=True)

    def start(self) -> "Table[T]":
        """Begin to read; returns at once."""
        self._thread.start()
        return self

    def stop(self) -> None:
        """End the thread and its consumer."""
        self._stopping.set()
        self._thread.join()

    @property
    def loaded(self) -> bool:
        """Whether the topic was read to its end once."""
        return self._loaded.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Block until loaded; False if that took longer."""
        return self._loaded.wait(seconds)

    @property
    def view(self) -> T:
        """What the topic says now. The object is replaced, never changed."""
        return self._view

    def _run(self) -> None:
        keep_reading(self._config, self._follow, self._stopping)

    def _follow(self, consumer: Consumer) -> None:
        """Read until stopping, or until the topic is deleted: what it said stays, a new one is awaited."""
        waiting = self._assign(consumer)
        looked = time.monotonic()
        while not self._stopping.is_set():
            self._take(consumer.consume(num_messages=500, timeout=_POLL_SECONDS), waiting)
            if time.monotonic() - looked > _LOOK_SECONDS:
                if self._deleted(consumer):
                    _log.warning("topic is gone, going on with what it said", extra={"topic": self._topic})
                    return
                looked = time.monotonic()

    def _deleted(self, consumer: Consumer) -> bool:
        """Whether the brokers say that there is no such topic; the client goes on as if nothing was."""
        try:
            return not consumer.list_topics(self._topic, timeout=_LOOK_SECONDS).topics[self._topic].partitions
        except KafkaException:
            return False

    def _assign(self, consumer: Consumer) -> set[int]:
        """Take every partition from its beginning; returns the partitions still to be read to the end."""
        while not self._stopping.is_set():
            try:
                found = consumer.list_topics(self._topic, timeout=5.0).topics[self._topic].partitions
            except KafkaException as error:
                _log.warning("topic metadata not available, trying again", extra={"error": str(error)})
                continue
            if found:
                consumer.assign([TopicPartition(self._topic, p, 0) for p in found])
                return set(found)
            self._stopping.wait(_POLL_SECONDS)
        return set()

    def _take(self, messages: list[Message], waiting: set[int]) -> None:
        changed = [self._apply(message) for message in messages if message.error() is None]
        ended = [m for m in messages if (error := m.error()) and error.code() == KafkaError._PARTITION_EOF]
        if any(changed):
            self._view = self._make_view(self._values)
        if waiting:
            waiting.difference_update(m.partition() for m in ended)
            if not waiting:
                self._loaded.set()

    def _apply(self, message: Message) -> bool:
        key, value = message.key() or b"", message.value()
        if value is None:
            return self._values.pop(key, None) is not None
        try:
            self._values[key] = self._decode(value)
        except Exception as error:  # a bad record must not end the table
            _log.error("undecodable record kept out", extra={"key": repr(key), "error": str(error)})
            return False
        return True
