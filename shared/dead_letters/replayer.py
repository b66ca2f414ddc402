"""Replays dead letters."""

import time
from collections.abc import Callable, Iterable, Iterator
from typing import Final

from confluent_kafka import KafkaError, KafkaException, Message

from shared.contracts.replays import MOST, encode_replay
from shared.contracts.topics import Topic
from shared.dead_letters.dead_letter import DeadLetter, copy_of
from shared.dead_letters.store import CLIENT
from shared.kafka.producer import logging_client, producer_config
from shared.runtime.clock import Clock
from shared.runtime.errors import OperatorError

_MOST_BYTES: Final = 8 * 1024 * 1024
"""Bytes of a batch's values above which it is written before another letter is read."""


class NotReplayedError(OperatorError):
    """The brokers did not acknowledge a replay; the text says what to do."""


class Replayer:
    """Replays letters in batches: records on `outbound`; once acknowledged, their names on `replayed`."""

    def __init__(self, bootstrap: str, clock: Clock, seconds: float = 60.0) -> None:
        """`seconds` is how long the brokers may take to acknowledge a batch."""
        self._failures: list[KafkaError] = []
        config = producer_config(bootstrap, CLIENT) | {
            "log_level": 3,
            "delivery.timeout.ms": int(seconds * 1_000),
        }
        only_errors = {"delivery.report.only.error": True, "on_delivery": self._failed}
        self._producer = logging_client(config | only_errors)
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
    batch: list[DeadLetter] = []
    size = 0
    for letter in letters:
        batch.append(letter)
        size += len(letter.value or b"")
        if len(batch) == most or size > _MOST_BYTES:
            yield batch
            batch, size = [], 0
    if batch:
        yield batch


def _explained(error: KafkaError) -> str:
    return f"not acknowledged by the brokers: {error.str()}; run the replay again: it skips what is done"
