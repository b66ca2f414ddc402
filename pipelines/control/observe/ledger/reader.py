"""Reads the ledger topic on a background thread."""

import queue
from collections.abc import Iterator
from typing import Final, NamedTuple

import msgspec
from confluent_kafka import Consumer, Message, TopicPartition

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
_BATCHES_AHEAD: Final = 20
_PARTITION: Final = 0


class Entry(NamedTuple):
    """A record of the ledger; `found` is None if it cannot be decoded."""

    offset: int
    found: Range | None


class LedgerReader(BackgroundReader):
    """Reads from `position` on into a bounded queue.

    If retention has deleted that offset, it reads from the beginning of the ledger. It waits for brokers that
    are unavailable.
    """

    def __init__(self, bootstrap: str, client_id: str, position: int) -> None:
        super().__init__(
            name="ledger",
            config=reader_config(bootstrap, client_id) | {"queued.max.messages.kbytes": 16 * 1024},
        )
        self._position = position
        self._ahead: queue.Queue[list[Entry]] = queue.Queue(_BATCHES_AHEAD)

    @property
    def ready(self) -> bool:
        """Whether the end of the ledger was reached once and everything up to there was taken."""
        return self.loaded and self._ahead.empty()

    def take(self, seconds: float) -> Iterator[Entry]:
        """Entries read so far, in order; waits `seconds` for the first one only.

        At most a full queue of them, so that the caller has its turn while the ledger is long.
        """
        try:
            yield from self._ahead.get(timeout=seconds)
            for _ in range(_BATCHES_AHEAD - 1):
                yield from self._ahead.get_nowait()
        except queue.Empty:
            return

    def _assign(self, consumer: Consumer) -> bool:
        consumer.assign([TopicPartition(Topic.LEDGER, _PARTITION, self._position)])
        return True

    def _turn(self, consumer: Consumer) -> bool:
        messages = poll_all(consumer, _MOST_MESSAGES)
        if messages:
            self._handle(messages)
        return True

    def _handle(self, messages: list[Message]) -> None:
        read = [_entry(message) for message in messages if message.error() is None]
        if read and self._put(read):
            self._position = read[-1].offset + 1
        if any(map(is_end, messages)):
            self._loaded.set()

    def _put(self, read: list[Entry]) -> bool:
        """Put a batch into the queue; False if the reader stops while the queue is full."""
        while not self._stopping.is_set():
            try:
                self._ahead.put(read, timeout=_PUT_SECONDS)
            except queue.Full:
                continue
            return True
        return False


def _entry(message: Message) -> Entry:
    offset = message.offset() or 0
    try:
        return Entry(offset, decode_range(message.value() or b""))
    except msgspec.MsgspecError as error:  # only audit writes here; one bad record must not stop the meter
        _log.error("unreadable ledger record", extra={"offset": offset, "error": str(error)})
        return Entry(offset, None)


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
