"""A recording of a side: the last records of the topics that another version has to read, and where its
queries stand.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

import msgspec
from confluent_kafka import Message
from msgspec import Struct

from shared.contracts.topics import Topic
from shared.contracts.topology import READERS
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

EVENT_RECORDS: Final = 200
"""Of each partition of a topic with events, at most so many records: the last ones."""

_DOCUMENT_RECORDS: Final = 5_000


class Recorded(Struct, frozen=True):
    """One Kafka record."""

    topic: str
    partition: int
    offset: int
    key: bytes | None
    value: bytes | None
    headers: list[tuple[str, bytes | None]] = []


class Recording(Struct, frozen=True, kw_only=True):
    """Of one side, or of several."""

    records: list[Recorded]
    queries: dict[str, dict[str, int]] = {}
    """By streaming query, for each `topic/partition` the offset of the next record, as in its checkpoint."""


def last_records(bootstrap: str) -> list[Recorded]:
    """The last records of each topic that another version has to read.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
    """
    with OffsetRangeReader(bootstrap, "hifi-recording") as reader:
        events = _last(reader.whole(map(Topic, READERS)), EVENT_RECORDS)
        documents = _last(reader.whole([Topic.CONFIG]), _DOCUMENT_RECORDS)
        return [_recorded(each) for each in reader.read(itertools.chain(events, documents))]


def write(found: Recording, file: Path) -> None:
    """Write it for `read`."""
    file.write_bytes(msgspec.msgpack.encode(found))


def read(file: Path) -> Recording:
    """A recording that was written, by this version or another one.

    Raises:
        ValueError: if it is none.
    """
    return msgspec.msgpack.decode(file.read_bytes(), type=Recording)


def _last(spans: Iterable[OffsetRange], most: int) -> Iterator[OffsetRange]:
    return (span._replace(start=max(span.start, span.end - most)) for span in spans)


def _recorded(message: Message) -> Recorded:
    return Recorded(
        topic=message.topic() or "",
        partition=message.partition() or 0,
        offset=message.offset() or 0,
        key=message.key(),
        value=message.value(),
        headers=cast(list[tuple[str, bytes | None]], message.headers() or []),
    )
