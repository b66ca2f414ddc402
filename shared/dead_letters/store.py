"""Reads dead letters from Kafka."""

from collections.abc import Callable, Iterable, Iterator
from datetime import timedelta
from typing import Final, NamedTuple, cast

from confluent_kafka import Message
from msgspec.structs import replace

from shared.contracts.headers import Headers
from shared.contracts.replays import LetterKey
from shared.contracts.topics import KEPT, Topic
from shared.dead_letters.dead_letter import DeadLetter, Filter, LeadsTo, letter_of
from shared.dead_letters.newest_first import Found, newest_first
from shared.dead_letters.replayed import ReplayedLetters
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader
from shared.runtime.clock import Clock

CLIENT: Final = "hifi-letters"
_AHEAD_BYTES: Final = 4 * 1024 * 1024
_NEAR: Final = 100
"""Offsets between two wanted letters that are rather read than skipped."""

_UNORDERED_MS: Final = 60_000
"""How much later than a record with a later time another one may have been written."""


class DeadLetterStore:
    """The letters that exist when it opens; a context manager."""

    def __init__(
        self,
        bootstrap: str,
        leads_to: LeadsTo,
        clock: Clock,
        replayed: ReplayedLetters | None = None,
        seconds: float = 30.0,
    ) -> None:
        """Read the end of the topic, and what was replayed so far.

        Letters older than the topic's retention do not count: Kafka, which deletes whole segments, may still
        have them, but no longer what says that they were replayed.

        Args:
            bootstrap: the brokers.
            leads_to: for letters that do not name their destination.
            clock: the time.
            replayed: what an earlier store found, to be brought up to date.
            seconds: how long to wait for the brokers.

        Raises:
            KafkaException: if the brokers do not answer.
            TimeoutError: if they stop answering.
        """
        self._leads_to = leads_to
        self._reader = OffsetRangeReader(bootstrap, CLIENT, seconds=seconds, ahead_bytes=_AHEAD_BYTES)
        try:
            self._oldest_ms = clock() - KEPT // timedelta(milliseconds=1)
            whole = self._reader.whole([Topic.DEAD_LETTER])
            self.spans = self._reader.since(whole, self._oldest_ms)
            """All letters that count, by partition."""

            self.replayed = replayed if replayed is not None else ReplayedLetters()
            self.replayed.refresh(self._reader)
        except BaseException:
            self._reader.__exit__()
            raise
        # Not what is old by a clock: if it is ahead for a moment, all would be forgotten for good.
        self.replayed.forget(whole)

    def __enter__(self) -> "DeadLetterStore":
        return self

    def __exit__(self, *_: object) -> None:
        self._reader.__exit__()

    def refresh(self) -> None:
        """Read what was replayed since.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        self.replayed.refresh(self._reader)

    def letters(self, wanted: Filter) -> Iterator[DeadLetter]:
        """The letters that meet a filter, oldest first.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        yield from self._letters(wanted, self.narrowed(wanted))

    def letters_in(self, spans: Iterable[OffsetRange]) -> Iterator[DeadLetter]:
        """The letters in ranges of `spans`, oldest first within each.

        Raises:
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """
        yield from self._letters(Filter(), spans)

    def newest_first(
        self, wanted: Filter, spans: list[OffsetRange], may_read: Callable[[], bool]
    ) -> Iterator[Found[DeadLetter | None]]:
        """All records of ranges, newest first: the letters that meet a filter, without their data, and None.

        Raises:
            ReadingEndedError: if more would have to be read, and `may_read` says no.
            KafkaException: if the brokers refuse.
            TimeoutError: if they stop answering.
        """

        def make(message: Message) -> DeadLetter | None:
            letter = self._letter(message)
            return replace(letter, value=None) if self._takes(wanted, letter) else None

        return newest_first(self._reader, spans, make, may_read)

    def narrowed(self, wanted: Filter) -> list[OffsetRange]:
        """The ranges in which all letters are that meet a filter."""
        if wanted.places is not None:
            return list(_around(self.spans, wanted.places))
        spans = self.spans if wanted.since_ms is None else self._reader.since(self.spans, wanted.since_ms)
        if wanted.until_ms is None:
            return spans
        ends = {span.partition: span for span in self._reader.since(spans, wanted.until_ms + _UNORDERED_MS)}
        return [span._replace(end=min(span.end, ends[span.partition].start)) for span in spans]

    def _letters(self, wanted: Filter, spans: Iterable[OffsetRange]) -> Iterator[DeadLetter]:
        for message in self._reader.read(spans):
            letter = self._letter(message)
            if self._takes(wanted, letter):
                yield letter

    def _takes(self, wanted: Filter, letter: DeadLetter) -> bool:
        return letter.key.written_ms >= self._oldest_ms and wanted.takes(letter)

    def _letter(self, message: Message) -> DeadLetter:
        key = LetterKey(cast(int, message.partition()), cast(int, message.offset()), message.timestamp()[1])
        headers = cast(Headers, message.headers() or [])
        return letter_of(key, message.key(), message.value(), headers, self._leads_to)


class _Run(NamedTuple):
    partition: int
    start: int
    end: int


def _around(spans: list[OffsetRange], places: frozenset[tuple[int, int]]) -> Iterator[OffsetRange]:
    """The fewest ranges that hold all places and little else."""
    known = {span.partition: span for span in spans}
    runs: list[_Run] = []
    for partition, offset in sorted(places):
        last = runs[-1] if runs else None
        if last and last.partition == partition and offset < last.end + _NEAR:
            runs[-1] = last._replace(end=offset + 1)
        else:
            runs.append(_Run(partition, offset, offset + 1))
    for run in runs:
        if (span := known.get(run.partition)) is not None:
            yield span._replace(start=max(span.start, run.start), end=min(span.end, run.end))
