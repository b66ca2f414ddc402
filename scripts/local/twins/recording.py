"""What a side has written: the last records of the topics that another version has to read, and where its
queries stand. It goes from the deployer to the code of the other version in a file.
"""

import itertools
from collections.abc import Iterable, Iterator
from pathlib import Path
from typing import Final, cast

import msgspec
from confluent_kafka import Message
from msgspec import Struct

from pipelines.control.backends.checkpoints import query_positions
from scripts.local.side import Side
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.contracts.topology import INPUTS
from shared.kafka.offset_range_reader import OffsetRange, OffsetRangeReader

EVENT_RECORDS: Final = 200
"""Of each partition of a topic with events, at most so many records: the last ones."""

_DOCUMENT_RECORDS: Final = 5_000
_EVENTS: Final = (Topic.COLLECTED, Topic.EVENTS, Topic.OUTBOUND, Topic.RETRY_OUT, *RETRY_DELAYS)


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


def recording(sides: Iterable[Side], target: Side) -> Recording:
    """What sides have written, and where the queries of one of them stand.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
        ValueError, OSError: if a checkpoint of the target cannot be read.
    """
    queries = query_positions(FolderCheckpoints(target.checkpoints), INPUTS)
    return Recording(records=[r for side in sides for r in last_records(side.bootstrap)], queries=queries)


def last_records(bootstrap: str) -> list[Recorded]:
    """The last records of each topic that another version has to read.

    Raises:
        KafkaException, TimeoutError: if the brokers do not answer.
    """
    with OffsetRangeReader(bootstrap, "hifi-recording") as reader:
        events = _last(reader.whole(_EVENTS), EVENT_RECORDS)
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
