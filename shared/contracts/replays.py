"""What `replayed` holds: which dead letters were put back on `outbound`, and when."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

MOST: Final = 1_000
"""Letters that one record names."""


class LetterKey(NamedTuple):
    """Names a record of `dead_letter` for ever: the time tells it from one of a topic made anew."""

    partition: int
    offset: int
    written_ms: int
    """The record's own Kafka timestamp, epoch milliseconds."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a `replayed` record, written once the brokers have the letters' copies on `outbound`."""

    at_ms: int
    """When, epoch milliseconds."""

    letters: list[LetterKey]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Replay)


def encode_replay(at_ms: int, letters: Iterable[LetterKey]) -> bytes:
    """The value of a `replayed` record."""
    return _encoder.encode(Replay(at_ms=at_ms, letters=list(letters)))


def decode_replay(value: bytes) -> Replay:
    """What a `replayed` record says.

    Raises:
        msgspec.MsgspecError: if the bytes are none.
    """
    return _decoder.decode(value)
