"""Reads dead letters from Kafka, and replays them."""

import time
from collections.abc import Callable, Iterable, Iterator, Mapping
from itertools import islice
from typing import Final, cast

from confluent_kafka import KafkaError, KafkaException, Message, Producer

from shared.contracts.documents import Catalogue
from shared.contracts.replays import MOST, LetterKey, decode_replay, encode_replay
from shared.contracts.topics import Topic
from shared.dead_letters.dead_letter import DeadLetter, Filter, Headers, copy_of, letter_of
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.kafka.producer import producer_config
from shared.runtime.clock import Clock
from shared.runtime.errors import OperatorError

CLIENT: Final = "hifi-letters"


class NotReplayedError(OperatorError):
    """The brokers did not acknowledge a replay; the text says what to do."""


class DeadLetterStore:
    """The letters that exist when it opens; a context manager."""

    def __init__(self, bootstrap: str, catalogue: Catalogue) -> None:
        """Read the end of the topic, and what was replayed so far.

        Raises:
            KafkaException: if the brokers do not answer.
            TimeoutError: if they stop answering.
        """
        self._leads_to = {name: pipe.destination for name, pipe in catalogue.pipes.items()}
        self._reader = OffsetRangeReader(bootstrap, CLIENT)
        self._spans = self._reader.whole([Topic.DEAD_LETTER])
        self.replayed: Mapping[LetterKey, int] = self._replayed()
        """Replayed letters, with the time of the replay in epoch milliseconds."""

    def __enter__(self) -> "DeadLetterStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.__exit__()

    def letters(self, wanted: Filter) -> Iterator[DeadLetter]:
        """The letters that meet a filter, oldest first.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        for message in self._reader.read(self._narrowed(wanted)):
            letter = self._letter(message)
            if wanted.takes(letter):
                yield letter

    def _narrowed(self, wanted: Filter) -> list[OffsetRange]:
        if wanted.places is not None:
            return [
                span._replace(start=max(span.start, offset), end=min(span.end, offset + 1))
                for span in self._spans
                for partition, offset in sorted(wanted.places)
                if span.partition == partition
            ]
        return self._spans if wanted.since_ms is None else self._reader.since(self._spans, wanted.since_ms)

    def _letter(self, message: Message) -> DeadLetter:
        key = LetterKey(cast(int, message.partition()), cast(int, message.offset()), message.timestamp()[1])
        headers = cast(Headers, message.headers() or [])
        return letter_of(key, message.key(), message.value(), headers, self._leads_to)

    def _replayed(self) -> dict[LetterKey, int]:
        found: dict[LetterKey, int] = {}
        for message in self._reader.read(self._reader.whole([Topic.REPLAYED])):
            replay = decode_replay(message.value() or b"")
            found |= dict.fromkeys(replay.letters, replay.at_ms)
        return found


class Replayer:
    """Replays letters in batches: records on `outbound`; once acknowledged, their names on `replayed`."""

    def __init__(self, bootstrap: str, clock: Clock) -> None:
        self._failures: list[KafkaError] = []
        config = producer_config(bootstrap, CLIENT) | {"log_level": 3}
        only_errors = {"delivery.report.only.error": True, "on_delivery": self._failed}
        self._producer = Producer(config | only_errors)
        self._clock = clock
        self.sent = 0
        """Letters that are on `outbound` and noted in `replayed`."""

    def send(
        self, letters: Iterable[DeadLetter], rate: float, pause: Callable[[float], None] = time.sleep
    ) -> None:
        """Replay letters, at most `rate` per second.

        Raises:
            NotReplayedError: if the brokers did not acknowledge a batch; those before it are done.
        """
        began = time.monotonic()
        for batch in _batches(letters, max(1, min(MOST, int(rate)))):
            pause(max(0.0, began + self.sent / rate - time.monotonic()))
            self._batch(batch)

    def _batch(self, letters: list[DeadLetter]) -> None:
        for copy in map(copy_of, letters):
            headers: list[tuple[str, str | bytes | None]] = [*copy.headers]
            self._produce(copy.topic, copy.value, copy.key, headers)
        self._flushed()
        keys = [letter.key for letter in letters]
        self._produce(Topic.REPLAYED, encode_replay(self._clock(), keys), None, [])
        self._flushed()
        self.sent += len(letters)

    def _produce(
        self,
        topic: Topic,
        value: bytes | None,
        key: bytes | None,
        headers: list[tuple[str, str | bytes | None]],
    ) -> None:
        while True:
            try:
                self._producer.produce(topic, value, key, headers=headers)
            except BufferError:
                self._producer.poll(0.2)
            except KafkaException as error:
                raise NotReplayedError(_explained(error.args[0])) from error
            else:
                return

    def _flushed(self) -> None:
        self._producer.flush()
        if self._failures:
            raise NotReplayedError(_explained(self._failures[0]))

    def _failed(self, error: KafkaError | None, _message: Message) -> None:
        if error is not None:
            self._failures.append(error)


def _batches(letters: Iterable[DeadLetter], most: int) -> Iterator[list[DeadLetter]]:
    remaining = iter(letters)
    while batch := list(islice(remaining, most)):
        yield batch


def _explained(error: KafkaError) -> str:
    return f"not acknowledged by the brokers: {error.str()}; run the replay again: it skips what is done"
