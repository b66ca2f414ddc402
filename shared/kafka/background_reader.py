"""Base class of threads that read topics in the background, without a consumer group."""

import threading
from abc import ABC, abstractmethod
from typing import Any, Final, Self

from confluent_kafka import Consumer, KafkaError, Message

from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
POLL_SECONDS: Final = 0.2

FETCH_WAIT_MS: Final = 500
"""How long an empty fetch waits. Only at its end does librdkafka report the end of a partition, which tells a
table that it is loaded and that it has all of a transaction."""

IDLE_FETCH_WAIT_MS: Final = 1_500
"""Fetch wait of a reader that only needs records. A record ends a fetch at once, and a longer wait makes
fewer empty fetches. It is no longer because other requests to that broker wait behind it."""


def reader_config(bootstrap: str, client_id: str) -> dict[str, Any]:
    """librdkafka settings of a reader without a consumer group, which commits nothing."""
    return client_config(bootstrap) | {
        "client.id": client_id,
        "group.id": f"{client_id}-unused",
        "enable.auto.commit": False,
        "auto.offset.reset": "earliest",
        "enable.partition.eof": True,
        "reconnect.backoff.max.ms": 1_000,
        "socket.timeout.ms": 10_000,
        "fetch.wait.max.ms": FETCH_WAIT_MS,
    }


class BackgroundReader(ABC):
    """A thread that assigns itself partitions and reads them until it is stopped.

    It waits for unavailable brokers, and replaces a consumer that fails: if the thread ended, its process
    would work with outdated data for ever.
    """

    def __init__(self, *, name: str, config: dict[str, Any]) -> None:
        """`name` is the thread's name; `config` are librdkafka settings, see `reader_config`."""
        self._config = config
        self._loaded = threading.Event()
        self._stopping = threading.Event()
        self._thread = threading.Thread(target=self._run, name=name, daemon=True)

    def start(self) -> Self:
        """Start reading; returns at once."""
        self._thread.start()
        return self

    def end(self) -> None:
        """Let the thread end, and its consumer; returns at once."""
        self._stopping.set()

    def stop(self) -> None:
        """End the thread and its consumer."""
        self.end()
        self._thread.join()

    @property
    def loaded(self) -> bool:
        """Whether the end of the topic was reached once."""
        return self._loaded.is_set()

    def wait(self, seconds: float | None = None) -> bool:
        """Block until `loaded`; False if that took longer."""
        return self._loaded.wait(seconds)

    @abstractmethod
    def _assign(self, consumer: Consumer) -> bool:
        """Assign partitions; False if the brokers do not list them yet."""

    @abstractmethod
    def _turn(self, consumer: Consumer) -> bool:
        """Read available records, waiting POLL_SECONDS at most; False if a new consumer is needed."""

    def _run(self) -> None:
        while not self._stopping.is_set():
            try:
                self._follow()
            except Exception:
                extra = {"client": self._config["client.id"]}
                _log.exception("reading failed; continuing with a new consumer", extra=extra)
                self._stopping.wait(POLL_SECONDS)

    def _follow(self) -> None:
        """Read with one consumer, for as long as it does. Making it fails, too, if it gets no token."""
        consumer = Consumer(self._config, logger=_log)
        try:
            while not self._stopping.is_set() and not self._assign(consumer):
                self._stopping.wait(POLL_SECONDS)
            while not self._stopping.is_set() and self._turn(consumer):
                pass
        finally:
            consumer.close()


def poll_all(consumer: Consumer, most: int) -> list[Message]:
    """The messages available once the first one is, at most `most` and one."""
    # consume() alone would wait for its whole timeout
    first = consumer.poll(POLL_SECONDS)
    return [] if first is None else [first, *consumer.consume(most, timeout=0)]


def is_end(message: Message) -> bool:
    """Whether the message is not a record but marks the end of its partition."""
    error = message.error()
    return error is not None and error.code() == KafkaError._PARTITION_EOF
