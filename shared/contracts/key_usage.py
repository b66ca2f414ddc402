"""When write keys were last used: records of the topic `key_usage`, and items of the table. Pure."""

from collections.abc import Sequence
from typing import Final

import msgspec
from msgspec import Struct

REPORTED_MS: Final = 60_000
"""A collect process reports a key at most so often."""

STORED_MS: Final = 10 * 60_000
"""A key's item in the table is that much behind its use at most: each step costs a write."""


class KeyUse(Struct, frozen=True):
    """One key, and when a request last came with it."""

    tenant: str
    source: str
    key_id: str
    """`documents.key_id` of its digest."""

    at_ms: int
    """Epoch milliseconds, by the clock of the collect process."""


_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(list[KeyUse])


def encode(used: Sequence[KeyUse]) -> bytes:
    """The value of a record."""
    return _encoder.encode(used)


def decode(value: bytes) -> list[KeyUse]:
    """The uses of keys in a record's value.

    Raises:
        msgspec.MsgspecError: if the bytes are not such a list.
    """
    return _decoder.decode(value)


def partition(tenant: str) -> str:
    """Partition of the items of a tenant's keys: one for each key and side, with the time as its value."""
    return f"key_use#{tenant}"


def sort_key(source: str, key_id: str, side: str) -> str:
    """Sort key of a side's item of a key."""
    return f"{source}/{key_id}/{side}"


def key_of(sort: str) -> str:
    """`source/key id` in a sort key."""
    return sort.rpartition("/")[0]
