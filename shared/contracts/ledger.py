"""Records of `ledger`, which audit writes and observe reads: tallies of a range of a partition's offsets.

A record's key names its range, and ranges of a partition follow each other, so a range that audit reads again
after a crash overwrites what it said before instead of adding to it.
"""

from enum import StrEnum
from typing import Final

import msgspec
import numpy as np

from shared.contracts.field_counts import FieldCounts, WatchKey
from shared.contracts.iblt import Hashes, Iblt
from shared.contracts.lag_histogram import Histogram
from shared.contracts.topics import Topic

GOOD_MS: Final = 1_000
"""An event that leaves hifi within this of entering it is good."""


class Stage(StrEnum):
    """The stage at which an event was seen."""

    COLLECTED = "collected"
    """An item that ingest can read; `name` is its source."""

    EVENTS = "events"
    UNMATCHED = "unmatched"
    """No pipe of its source takes it: filtered, or outside the sample."""

    FIRST = "first"
    """The first of an event's copies in `outbound`, one a pipe; `name` is the pipe."""

    FURTHER = "further"
    """Any other copy; `name` is the pipe."""

    CLAIMED = "claimed"
    """In no topic: a first copy's claim that a further pipe, `name`, is to get the event."""

    LETTER = "letter"
    """A dead letter that was put back on `outbound`; `name` is the pipe."""

    RETRIED = "retried"
    """In `retry_out`; `name` is the pipe, as in all stages below."""

    DELIVERED = "delivered"
    """In a receipt, like all stages down to DROPPED."""

    RETRYING = "retrying"
    DEAD = "dead"
    DROPPED = "dropped"
    """Delivered a moment ago; not sent again."""

    WAITING = "waiting"
    """In `retry_in.*`."""

    DEAD_LETTER = "dead_letter"
    QUARANTINED = "quarantined"
    """A record that a node could not read; `name` is the topic that it was read from. With its id where its
    headers have id and minute; otherwise it is only counted, in the minute of its writing."""


FEW: Final = 256
"""Up to so many events a tally lists their hashes, which takes less room than the sketch."""


class Tally(msgspec.Struct, kw_only=True, omit_defaults=True):
    """Events of one range that share stage, tenant, minute and name."""

    stage: Stage
    tenant: str = ""
    minute: int
    """Epoch minute, the event's own."""

    name: str = ""
    """A source, a pipe or a topic: see Stage."""

    destination: str = ""
    """Of a receipt."""

    replayed: bool = False
    """Whether the events were processed again after a rollback, and so have the header REPLAY."""

    count: int
    hash_sum: int = 0
    """Sum of the ids' hashes, modulo 2**64."""

    hashes: bytes = b""
    """Few ids' hashes, eight bytes each, little-endian."""

    cells: bytes = b""
    """Of more: `Iblt.pack`."""

    late: int = 0
    """Events with a time outside the window: minute and lags go by the receive time instead."""

    lag_in: Histogram = msgspec.field(default_factory=dict)
    """COLLECTED only: from the time that names the minute to the request's last byte, milliseconds."""

    lag_out: Histogram = msgspec.field(default_factory=dict)
    """Milliseconds from the time that names the minute to the record's time; for a receipt, to the answer."""

    inside: Histogram = msgspec.field(default_factory=dict)
    """DELIVERED only: from the request's last byte to the answer, milliseconds."""

    good: int = 0
    """DELIVERED only: exactly how many left within GOOD_MS."""

    due_ms: int = 0
    """WAITING only: when the last of them may leave, epoch milliseconds."""

    reasons: dict[str, int] = msgspec.field(default_factory=dict)
    """RETRYING and DEAD: events by `status reason`, such as "404 refused" or "- connect". DEAD_LETTER: those
    of events that were replayed and died again; earlier versions of audit left them out."""

    breaker: str = ""
    lane: str = ""
    """Breaker and lane of the destination, from the newest receipt."""

    watched: dict[WatchKey, FieldCounts] = msgspec.field(default_factory=dict)
    """FIRST and FURTHER only: what the pipe's watched fields held."""

    first: int
    last: int
    """Offsets of the first and the last record of the range that holds one of the events."""

    first_ms: int = 0
    last_ms: int = 0
    """Times of the earliest and the latest of these records, epoch milliseconds."""

    @property
    def sketch(self) -> Iblt:
        """The sketch of the ids, from `cells` or from `hashes`."""
        return Iblt.unpack(self.cells) if self.cells else Iblt.of(np.frombuffer(self.hashes, "<u8"))


def with_ids(tally: Tally, hashes: Hashes) -> Tally:
    """The tally with the ids of its events."""
    total = int(hashes.sum(dtype=np.uint64))
    if hashes.size <= FEW:
        return msgspec.structs.replace(tally, hash_sum=total, hashes=hashes.astype("<u8").tobytes())
    return msgspec.structs.replace(tally, hash_sum=total, cells=Iblt.of(hashes).pack())


class Range(msgspec.Struct, kw_only=True, omit_defaults=True):
    """The value of a `ledger` record: what a range of offsets holds, or a part of that."""

    topic: Topic
    partition: int
    start: int
    end: int
    """Behind the last."""

    newest_ms: int
    """Time of its newest record, epoch milliseconds."""

    part: int = 0
    parts: int = 1
    """A range with very many tallies takes several records."""

    tallies: list[Tally]

    @property
    def key(self) -> bytes:
        """The record's key: the same range, read again, has the same."""
        return f"{self.topic}/{self.partition}/{self.start}-{self.end}/{self.part}".encode()


_encoder = msgspec.msgpack.Encoder()
_decoder = msgspec.msgpack.Decoder(Range)


def encode_range(found: Range) -> bytes:
    """The value of a `ledger` record."""
    return _encoder.encode(found)


def decode_range(value: bytes) -> Range:
    """The range in a `ledger` record's value.

    Raises:
        msgspec.MsgspecError: if the bytes are not one.
    """
    return _decoder.decode(value)
