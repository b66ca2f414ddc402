"""Records of the topic `replayed`: which dead letters were replayed, and when."""

from collections.abc import Iterable
from typing import Final, NamedTuple

import msgspec

MOST: Final = 1_000
"""Most dead letters in one record."""


class LetterKey(NamedTuple):
    """Identifies a record of `dead_letter`; the time distinguishes it from one in a recreated topic."""

    partition: int
    offset: int
    written_ms: int
    """The record's own Kafka timestamp, epoch milliseconds."""


class Replay(msgspec.Struct, frozen=True, kw_only=True):
    """The value of a `replayed` record, written once the copies are acknowledged on `outbound`."""

    at_ms: int
    """When, epoch milliseconds."""

    letters: list[LetterKey]


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Replay)


def encode_replay(at_ms: int, letters: Iterable[LetterKey]) -> bytes:
    """The value of a `replayed` record."""
    return _encoder.encode(Replay(at_ms=at_ms, letters=list(letters)))


def decode_replay(value: bytes) -> Replay:
    """Decode the value of a `replayed` record.

    Raises:
        msgspec.MsgspecError: if it cannot be decoded.
    """
    return _decoder.decode(value)
