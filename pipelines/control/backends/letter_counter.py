"""Counts a side's dead letters by reason, a piece at each call: a side may have millions of them."""

import time
from collections import Counter
from collections.abc import Callable, Container, Iterable, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager
from typing import Final, Protocol

from shared.contracts.replays import LetterKey
from shared.contracts.topics import Topic
from shared.dead_letters.dead_letter import DeadLetter
from shared.dead_letters.replayed import ReplayedLetters
from shared.dead_letters.store import DeadLetterStore
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from shared.kafka.offset_range_reader import OffsetRange
from shared.runtime.clock import wall_clock

_PIECE_SECONDS: Final = 4.0
"""A call of the backend returns within about ten."""

_AGAIN_SECONDS: Final = 3_600.0
"""Letters that became too old meanwhile are found by a new count."""

_Ends = Mapping[tuple[str, int], int]


class Letters(Protocol):
    """The letters that exist when it is opened: shared.dead_letters.store."""

    @property
    def spans(self) -> Sequence[OffsetRange]:
        """All letters that count, by partition."""
        ...

    @property
    def replayed(self) -> Container[LetterKey]:
        """Those that were replayed."""
        ...

    def letters_in(self, spans: Iterable[OffsetRange]) -> Iterator[DeadLetter]:
        """The letters in ranges of `spans`, oldest first within each."""
        ...


class LetterCounter:
    """Goes on where its last call ended. Belongs to one thread; raises what its arguments raise."""

    def __init__(
        self,
        ends: Callable[[], _Ends],
        opened: Callable[[], AbstractContextManager[Letters]],
        monotonic: Callable[[], float],
    ) -> None:
        """Nothing is asked before the first call.

        Args:
            ends: of `dead_letter` and `replayed`, by topic and partition.
            opened: the letters that exist now.
            monotonic: seconds of a clock that never goes back.
        """
        self._ends, self._opened, self._monotonic = ends, opened, monotonic
        self._begun_at, self._replays = float("-inf"), dict[tuple[str, int], int]()
        self._found, self._read_to = Counter[str](), dict[int, int]()
        self._complete_at: _Ends | None = None
        """The ends at which everything was counted; None while it is not."""

    def count(self) -> Mapping[str, int] | None:
        """Letters that were not replayed, by reason; None until all of them are read."""
        ends = dict(self._ends())
        if self._complete_at is not None and self._is_outdated(ends):
            self._found, self._read_to = Counter(), {}
        elif ends == self._complete_at:
            return dict(self._found)
        if not self._read_to:
            # What is replayed from now on makes the call after this count begin another one.
            self._begun_at, self._replays = self._monotonic(), _replays(ends)
        self._complete_at = None
        if not self._read():
            return None
        self._complete_at = ends
        return dict(self._found)

    def _is_outdated(self, ends: _Ends) -> bool:
        """Whether letters that were counted may count no more: replayed since, or too old."""
        return self._monotonic() - self._begun_at > _AGAIN_SECONDS or _replays(ends) != self._replays

    def _read(self) -> bool:
        """Read on for a while; whether all letters are read."""
        until = self._monotonic() + _PIECE_SECONDS
        with self._opened() as store:
            for span in store.spans:
                start = max(span.start, self._read_to.get(span.partition, 0))
                for letter in store.letters_in([span._replace(start=start)]):
                    self._note(letter, open_=letter.key not in store.replayed)
                    if self._monotonic() > until:
                        return False
                self._read_to[span.partition] = span.end
        return True

    def _note(self, letter: DeadLetter, *, open_: bool) -> None:
        self._read_to[letter.key.partition] = letter.key.offset + 1
        if open_:
            self._found[letter.reason.partition(":")[0]] += 1


def letter_counter(bootstrap: str) -> LetterCounter:
    """A counter for one side's brokers; its `count` raises KafkaException and TimeoutError."""
    replayed = ReplayedLetters()
    topics = (Topic.DEAD_LETTER, Topic.REPLAYED)

    def ends() -> _Ends:
        found = partition_ends(admin_client(bootstrap))
        return {place: end for place, end in found.items() if place[0] in topics}

    return LetterCounter(ends, lambda: DeadLetterStore(bootstrap, {}, wall_clock, replayed), time.monotonic)


def _replays(ends: _Ends) -> dict[tuple[str, int], int]:
    return {place: end for place, end in ends.items() if place[0] == Topic.REPLAYED}
