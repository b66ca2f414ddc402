"""Which dead letters were replayed, as the topic `replayed` says."""

import threading
from collections.abc import Iterable, Iterator, Mapping
from typing import Final

from shared.contracts.replays import LetterKey, decode_replay
from shared.contracts.topics import Topic
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

_MOST_STALE: Final = 10_000
"""Replayed letters, above which those that the topic no longer holds are forgotten."""


class ReplayedLetters(Mapping[LetterKey, int]):
    """Replayed letters, with the time of the replay in epoch milliseconds. May be used from any thread."""

    def __init__(self) -> None:
        self._found: dict[LetterKey, int] = {}
        self._positions: dict[int, int] = {}
        self._lock = threading.Lock()

    def __getitem__(self, key: LetterKey) -> int:
        return self._found[key]

    def __len__(self) -> int:
        return len(self._found)

    def __iter__(self) -> Iterator[LetterKey]:
        return iter(tuple(self._found))

    def refresh(self, reader: OffsetRangeReader) -> None:
        """Read what was written since the last call; the first one reads the whole topic.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        with self._lock:
            for whole in reader.whole([Topic.REPLAYED]):
                self._read(reader, whole)

    def forget(self, retained: Iterable[OffsetRange]) -> None:
        """Forget letters that `dead_letter` no longer holds, once there are many."""
        with self._lock:
            if len(self._found) > _MOST_STALE:
                first = {span.partition: span.start for span in retained}
                kept = {k: at for k, at in self._found.items() if k.offset >= first.get(k.partition, 0)}
                self._found = kept

    def _read(self, reader: OffsetRangeReader, whole: OffsetRange) -> None:
        position = self._positions.get(whole.partition, 0)
        start = max(whole.start, position) if position <= whole.end else whole.start  # else a new topic
        for message in reader.read([whole._replace(start=start)]):
            replay = decode_replay(message.value() or b"")
            self._found.update(dict.fromkeys(replay.letters, replay.at_ms))
        self._positions[whole.partition] = whole.end
