"""Reads the ledger topic on a background thread."""

from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

from pipelines.control.observe.ledger.read_ahead import AHEAD_BYTES, ReadAhead, Record
from shared.contracts.ledger import Range, decode_range
from shared.contracts.topics import Topic
from shared.kafka.background_reader import BackgroundReader, is_end, poll_all, reader_config
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_PUT_SECONDS: Final = 0.2
_ANSWER_SECONDS: Final = 2.0
"""How long a stop may wait for a full queue."""

_MOST_MESSAGES: Final = 200
_PARTITION: Final = 0


class Entry(NamedTuple):
    """A record of the ledger; `found` is None if it cannot be decoded."""

    offset: int
    found: Range | None


class LedgerReader(BackgroundReader):
    """Reads from `position` on into a queue of `ahead_bytes`; the client's own queue has as many.

    If retention has deleted that offset, it reads from the beginning of the ledger. It waits for brokers that
    are unavailable.
    """

    def __init__(
        self, bootstrap: str, client_id: str, position: int, *, ahead_bytes: int = AHEAD_BYTES
    ) -> None:
        queued = {"queued.max.messages.kbytes": max(1, ahead_bytes // 1024)}
        super().__init__(name="ledger", config=reader_config(bootstrap, client_id) | queued)
        self._position = position
        self._ahead = ReadAhead(ahead_bytes)

    @property
    def ready(self) -> bool:
        """Whether the end of the ledger was reached once and everything up to there was taken."""
        return self.loaded and self._ahead.empty

    @property
    def held_bytes(self) -> int:
        """Bytes of the values that were read and not taken."""
        return self._ahead.held_bytes

    def take(self, seconds: float) -> Iterator[Entry]:
        """The next entries, in order; waits `seconds` for the first one only.

        A batch at most, so that the caller has its turn after each while the ledger is long.
        """
        return map(_entry, self._ahead.take(seconds))

    def _assign(self, consumer: Consumer) -> bool:
        consumer.assign([TopicPartition(Topic.LEDGER, _PARTITION, self._position)])
        return True

    def _turn(self, consumer: Consumer) -> bool:
        messages = poll_all(consumer, _MOST_MESSAGES)
        if messages:
            self._handle(messages)
        return True

    def _handle(self, messages: list[Message]) -> None:
        for message in messages:
            if message.error() is None and not self._put(_record(message)):
                return
        if any(map(is_end, messages)):
            self._loaded.set()

    def _put(self, record: Record) -> bool:
        """Put a record into the queue; False if the reader stops while the queue is full."""
        while not self._stopping.is_set():
            if self._ahead.put(record, _PUT_SECONDS):
                self._position = record.offset + 1
                return True
        return False


def _record(message: Message) -> Record:
    return Record(message.offset() or 0, message.value() or b"")


def _entry(record: Record) -> Entry:
    try:
        return Entry(record.offset, decode_range(record.value))
    except msgspec.MsgspecError as error:  # only audit writes here; one bad record must not stop the meter
        _log.error("unreadable ledger record", extra={"offset": record.offset, "error": str(error)})
        return Entry(record.offset, None)


def ledger_end(bootstrap: str, client_id: str) -> int:
    """The end offset of the ledger.

    Raises:
        KafkaException: if the brokers do not answer.
    """
    consumer = Consumer(reader_config(bootstrap, client_id), logger=_log)
    try:
        place = TopicPartition(Topic.LEDGER, _PARTITION)
        return retained_offsets(consumer, place, seconds=_ANSWER_SECONDS).end
    finally:
        consumer.close()
