"""Heartbeats, in which a process says which configuration it uses: records of topic `heartbeats`. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

import msgspec
from msgspec import Struct

CONFIGURED: Final[Mapping[str, tuple[str, ...]]] = {
    "source": ("collect", "route"),
    "destination": ("transmit",),
    "pipe": ("route", "transmit"),
    "contact": (),
}
"""The nodes that need a document of each kind: it is in force when all of their processes use it. observe,
which uses contacts, sends no heartbeats."""


NODES: Final = ("collect", "route", "transmit")
"""Those that say which configuration they use."""


class Heartbeat(Struct, frozen=True, kw_only=True):
    """One process, or one query, at one moment."""

    node: str
    instance: str
    """Tells the processes of a node apart."""

    build: str
    """Version of hifi."""

    config: int
    """The offset of `config` up to which, itself excluded, everything is used."""

    at_ms: int
    """Epoch milliseconds."""

    valid_ms: int
    """How long it counts unless it is repeated; 0 says that the process has ended."""


Usage = Mapping[str, int]
"""The offset up to which all processes of a node use `config`, by node; without processes it is missing."""

_encoder = msgspec.json.Encoder()
_decoder = msgspec.json.Decoder(Heartbeat)


def encode(beat: Heartbeat) -> bytes:
    """The value of a record."""
    return _encoder.encode(beat)


def decode(value: bytes) -> Heartbeat:
    """The heartbeat in a record's value.

    Raises:
        msgspec.MsgspecError: if the bytes are not one.
    """
    return _decoder.decode(value)


def usage(beats: Iterable[Heartbeat], now_ms: int) -> Usage:
    """The usage by the processes that are alive."""
    found: dict[str, int] = {}
    for each in beats:
        if now_ms < each.at_ms + each.valid_ms:
            found[each.node] = min(each.config, found.get(each.node, each.config))
    return found


def lacking(kind: str, offset: int, used: Usage) -> list[str]:
    """The nodes at which the record of a document at an offset is not in force."""
    return [node for node in CONFIGURED[kind] if used.get(node, 0) <= offset]
