"""Reads ranges of a topic from their ends, although Kafka reads forward only."""

import heapq
import time
from collections.abc import Callable, Iterator, Sequence
from typing import Final, Generic, NamedTuple, TypeVar, cast

from confluent_kafka import Message

from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

T = TypeVar("T")
_FIRST: Final = 64
_MOST: Final = 2_048
"""Records that are read at a time: more while that is quick, because values may be large."""

_QUICK_SECONDS: Final = 0.2


class ReadingEndedError(Exception):
    """There are more records, and no more may be read: those that were read have all been given."""


class Found(NamedTuple, Generic[T]):
    """A record, and what was made of it."""

    partition: int
    offset: int
    at_ms: int
    """Its timestamp, epoch milliseconds."""

    kept: T


def newest_first(
    reader: OffsetRangeReader,
    spans: Sequence[OffsetRange],
    make: Callable[[Message], T],
    may_read: Callable[[], bool],
) -> Iterator[Found[T]]:
    """All records of ranges of one topic, newest first by their timestamps; in each partition by offset.

    Records are read many at a time, and first some of each partition, however long that takes. So every call
    yields some, and a caller that goes on from the last one reaches the end.

    Args:
        reader: of the topic.
        spans: the ranges.
        make: decides what is kept of a record: at most some thousand results are in memory, but no record.
        may_read: asked before more of a partition is read.

    Raises:
        ReadingEndedError: if more would have to be read, and it may not be.
        KafkaException: if the brokers refuse.
        TimeoutError: if they stop answering.
    """
    return heapq.merge(
        *(_backwards(reader, span, make, may_read) for span in spans), key=lambda found: -found.at_ms
    )


def _backwards(
    reader: OffsetRangeReader, span: OffsetRange, make: Callable[[Message], T], may_read: Callable[[], bool]
) -> Iterator[Found[T]]:
    end, size, given = span.end, _FIRST, False
    while end > span.start:
        if given and not may_read():
            raise ReadingEndedError
        began = time.monotonic()
        start = max(span.start, end - size)
        chunk = [_found(message, make) for message in reader.read([span._replace(start=start, end=end)])]
        quick = time.monotonic() - began < _QUICK_SECONDS
        size = min(_MOST, size * 2) if quick else max(_FIRST, size // 2)
        yield from reversed(chunk)
        end, given = start, given or bool(chunk)


def _found(message: Message, make: Callable[[Message], T]) -> Found[T]:
    place = cast(int, message.partition()), cast(int, message.offset())
    return Found(*place, message.timestamp()[1], make(message))
