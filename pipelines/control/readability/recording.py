"""A recording of a side: the last records of the topics that another version has to read, and where its
queries stand.
"""

from collections import deque
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from itertools import groupby
from pathlib import Path
from typing import Final, NamedTuple, cast

import msgspec
from confluent_kafka import Message
from msgspec import Struct

from shared.contracts.topics import Topic
from shared.contracts.topology import READERS
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader


class _Most(NamedTuple):
    """Limits of one partition: only the last records and bytes are taken."""

    records: int
    bytes: int


EVENTS: Final = _Most(records=200, bytes=4 * 1024 * 1024)
"""A record of `collected` may have half a MiB, and a pod that is asked has 2 GiB for all it does. Any record
that hifi writes fits."""

_DOCUMENTS: Final = _Most(records=5_000, bytes=32 * 1024 * 1024)
_FIRST_BLOCK: Final = 8
"""Records that are read at first, from the end of a partition; then twice as many before these, and so on."""

_AHEAD_BYTES: Final = 2 * 1024 * 1024


class Recorded(Struct, frozen=True):
    """One Kafka record."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] = []


class Recording(Struct, frozen=True, kw_only=True):
    """The last records and query positions of one side, or of several."""

    records: list[Recorded]
    queries: dict[str, dict[str, int]] = {}
    """The offset of the next record in each checkpoint, by streaming query and `topic/partition`."""


def last_records(bootstrap: str) -> list[Recorded]:
    """The last records of each topic that another version has to read.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
    """
    with last_by_topic(bootstrap) as topics:
        return [each for _, records in topics for each in records]


@contextmanager
def last_by_topic(bootstrap: str) -> Iterator[Iterator[tuple[str, Sequence[Recorded]]]]:
    """The same, topic by topic: each is read when it is its turn.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer, also while a topic is read.
    """
    with OffsetRangeReader(bootstrap, "hifi-recording", ahead_bytes=_AHEAD_BYTES) as reader:
        spans = reader.whole([*map(Topic, READERS), Topic.CONFIG])
        yield (
            (topic, [each for span in of_topic for each in _last(reader, span)])
            for topic, of_topic in groupby(spans, lambda span: span.topic)
        )


def by_topic(records: Iterable[Recorded]) -> Mapping[str, Sequence[Recorded]]:
    """The records of each topic."""
    found: dict[str, list[Recorded]] = {}
    for each in records:
        found.setdefault(each.topic, []).append(each)
    return found


def write(found: Recording, file: Path) -> None:
    """Write it for `read`."""
    file.write_bytes(msgspec.msgpack.encode(found))


def read(file: Path) -> Recording:
    """A recording that was written, by this version or another one.

    Raises:
        ValueError: if it is none.
    """
    return msgspec.msgpack.decode(file.read_bytes(), type=Recording)


def _last(reader: OffsetRangeReader, span: OffsetRange) -> Sequence[Recorded]:
    """The last records of a partition, read in blocks from its end backwards."""
    most = _DOCUMENTS if span.topic == Topic.CONFIG else EVENTS
    first, end, block = max(span.start, span.end - most.records), span.end, _FIRST_BLOCK
    found, room = deque[Recorded](), most.bytes
    while end > first and room > 0:
        start = max(first, end - block)
        older, room = _newest(map(_recorded, reader.read([span._replace(start=start, end=end)])), room)
        found.extendleft(reversed(older))
        end, block = start, 2 * block
    return list(found)


def _newest(records: Iterable[Recorded], room: int) -> tuple[Sequence[Recorded], int]:
    """The last of these that fit into so many bytes, and how many are left: none if not all fit."""
    kept, dropped = deque[Recorded](), False
    for each in records:
        kept.append(each)
        room -= _size(each)
        while room < 0:
            room += _size(kept.popleft())
            dropped = True
    return kept, 0 if dropped else room


def _size(record: Recorded) -> int:
    headers = sum(len(name) + len(value or b"") for name, value in record.headers)
    return len(record.key or b"") + len(record.value or b"") + headers


def _recorded(message: Message) -> Recorded:
    return Recorded(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=cast(list[tuple[str, bytes | None]], message.headers() or []),
    )
