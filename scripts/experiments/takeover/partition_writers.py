"""Which producers wrote a partition, by a broker's own log. Pure."""

from collections.abc import Iterable, Iterator
from itertools import groupby
from typing import Final

_HEAD_BYTES: Final = 61


def writers_in_turn(producers: Iterable[int]) -> bool:
    """Whether no producer of a partition, by the order of its batches, wrote again after another one had.

    Each driver's query has a producer of its own: two drivers at work would write alternately.
    """
    turns = [producer for producer, _ in groupby(producers)]
    return len(turns) == len(set(turns))


def producer_ids(segment: bytes) -> Iterator[int]:
    """The producer of each batch of a Kafka log segment, format 2; batches without one are left out.

    A batch that is not whole, because the broker is writing it, ends the iteration.
    """
    at = 0
    while at + _HEAD_BYTES <= len(segment):
        size = int.from_bytes(segment[at + 8 : at + 12], "big")
        if at + 12 + size > len(segment):
            return
        producer = int.from_bytes(segment[at + 43 : at + 51], "big", signed=True)
        if producer >= 0:
            yield producer
        at += 12 + size
