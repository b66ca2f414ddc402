"""The loop of every hop: read, handle, write, wait for acknowledgements, then commit the offsets."""

from collections.abc import Callable, Iterable, Sequence
from typing import Any, cast

from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from msgspec import Struct

from shared.contracts import headers
from shared.contracts.topics import Topic
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.kafka_config import client_config
from shared.runtime.logging import get_logger

_log = get_logger(__name__)

HeaderList = list[tuple[str, bytes]]


def header_list(message: Message) -> HeaderList:
    """A record's headers; hifi writes no header without a value."""
    return cast(HeaderList, message.headers() or [])


def attributes_of(given: dict[str, bytes]) -> dict[str, str]:
    """CloudEvents attributes from a record's headers, without `specversion`."""
    found = {
        name.removeprefix(headers.CE_PREFIX): value.decode()
        for name, value in given.items()
        if name.startswith(headers.CE_PREFIX)
    }
    found.pop("specversion", None)
    if headers.CONTENT_TYPE in given:
        found["datacontenttype"] = given[headers.CONTENT_TYPE].decode()
    return found


class Output(Struct, frozen=True):
    """A record to write."""

    topic: Topic
    value: bytes | None
    headers: HeaderList
    key: bytes | None = None


Handler = Callable[[Sequence[Message]], Iterable[Output]]

FLUSH_SECONDS = 60.0
_IDLE_SECONDS = 0.5


def consumer_config(bootstrap: str, group: str) -> dict[str, Any]:
    """librdkafka settings of a hop's consumer, which commits stored offsets every second."""
    return client_config(bootstrap) | {
        "group.id": group,
        "client.id": group,
        "auto.offset.reset": "earliest",
        "enable.auto.offset.store": False,
        "auto.commit.interval.ms": 1_000,
        "partition.assignment.strategy": "cooperative-sticky",
    }


class Hop:
    """One hop: a topic in, a handler, topics out."""

    def __init__(self, bootstrap: str, name: str, topic: Topic, handle: Handler, most: int) -> None:
        self._consumer = Consumer(consumer_config(bootstrap, f"yardstick-{name}"), logger=_log)
        self._consumer.subscribe([topic])
        # Only errors are reported: a callback for each record would cost more than sending it.
        only_errors = {"delivery.report.only.error": True, "on_delivery": self._failed}
        self._producer = logging_client(producer_config(bootstrap, f"yardstick-{name}") | only_errors)
        self._errors: list[KafkaError] = []
        self._handle = handle
        self._most = most

    def run(self, stopping: Callable[[], bool]) -> None:
        """Run until `stopping` returns true.

        Raises:
            KafkaException: if a record was not acknowledged; no offset of that turn is stored.
        """
        try:
            while not stopping():
                self._turn()
        finally:
            self._consumer.close()

    def _turn(self) -> None:
        messages = self._read()
        if not messages:
            return
        for output in self._handle(messages):
            self._write(output)
        if self._producer.flush(FLUSH_SECONDS) or self._errors:
            raise KafkaException(self._errors[0] if self._errors else KafkaError(KafkaError._TIMED_OUT))
        self._consumer.store_offsets(offsets=_after(messages))

    def _read(self) -> list[Message]:
        """Wait for a record, then also take those that are already fetched."""
        first = self._consumer.poll(_IDLE_SECONDS)
        if first is None:
            return []
        return [m for m in (first, *self._consumer.consume(self._most, timeout=0)) if _readable(m)]

    def _write(self, output: Output) -> None:
        while True:
            try:
                self._producer.produce(output.topic, output.value, output.key, headers=output.headers)  # type: ignore[arg-type]
            except BufferError:
                self._producer.poll(0.1)
            else:
                return

    def _failed(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._errors.append(error)


def _readable(message: Message) -> bool:
    error = message.error()
    if error is None:
        return True
    if error.retriable() or error.code() == KafkaError._TRANSPORT:
        return False
    raise KafkaException(error)


def _after(messages: Sequence[Message]) -> list[TopicPartition]:
    """The next offset of each partition after these messages."""
    last = {(m.topic(), m.partition()): cast(int, m.offset()) for m in messages}  # ascending in a partition
    return [TopicPartition(cast(str, t), cast(int, p), offset + 1) for (t, p), offset in last.items()]
