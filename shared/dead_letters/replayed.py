"""Which dead letters were replayed, as the topic `replayed` says."""

import threading
from collections.abc import Iterable

from shared.contracts.replays import LetterKey, Replay, decode_replay
from shared.contracts.topics import Topic
from shared.dead_letters.replay_times import ReplayTimes
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader


class ReplayedLetters:
    """Replayed letters, with the times of their replays. May be used from any thread."""

    def __init__(self) -> None:
        self._times = ReplayTimes()
        self._positions: dict[int, int] = {}
        self._reading = threading.Lock()
        self._lock = threading.Lock()

    def __contains__(self, letter: object) -> bool:
        return isinstance(letter, LetterKey) and self.get(letter) is not None

    def get(self, letter: LetterKey) -> int | None:
        """When it was replayed last, epoch milliseconds, to the second; None if it was not."""
        with self._lock:
            return self._times.get(letter)

    def add(self, replay: Replay) -> None:
        """Take note of a replay."""
        with self._lock:
            for letter in replay.letters:
                self._times.add(letter, replay.at_ms)

    def refresh(self, reader: OffsetRangeReader) -> None:
        """Read what was written since the last call; the first one reads the whole topic.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        with self._reading:
            for whole in reader.whole([Topic.REPLAYED]):
                self._read(reader, whole)

    def forget(self, retained: Iterable[OffsetRange]) -> None:
        """Forget letters that `dead_letter` no longer holds."""
        with self._lock:
            for span in retained:
                self._times.forget(span.partition, span.start)

    def _read(self, reader: OffsetRangeReader, whole: OffsetRange) -> None:
        position = self._positions.get(whole.partition, 0)
        start = max(whole.start, position) if position <= whole.end else whole.start  # else a new topic
        for message in reader.read([whole._replace(start=start)]):
            self.add(decode_replay(message.value() or b""))
        self._positions[whole.partition] = whole.end
