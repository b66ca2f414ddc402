"""A live tail of a pipe as server-sent events: the API writes them, the command and the console read them."""

from collections.abc import Iterator
from enum import StrEnum
from typing import Any, Final, NamedTuple

import msgspec
from msgspec import Struct

from shared.contracts.api_answers.events import NOTHING, Event
from shared.contracts.api_answers.problems import Problem

HEARTBEAT_SECONDS: Final = 15.0
"""After so long without an event there is a comment; a reader that sees none for much longer has lost it."""

_encode: Final = msgspec.json.Encoder().encode


class TailMessage(StrEnum):
    """The names of a tail's messages."""

    START = "start"
    """Nothing is missed from now on."""

    EVENT = "event"
    LEFT_OUT = "left_out"
    """How many events were not shown, so far."""

    END = "end"
    """The last one, with its reason."""


class TailEnd(StrEnum):
    """Why a tail ends."""

    TIME = "time"
    """It was as long as a tail may be; another one may follow."""

    STORE = "store"
    """The table of documents does not answer."""

    TOKEN = "token"  # noqa: S105  # not one
    """The token was revoked, has expired, or may no longer do this."""

    PIPE = "pipe"
    """The pipe was deleted."""


AGAIN: Final = frozenset({TailEnd.TIME, TailEnd.STORE})
"""Ends after which the same request may succeed."""


class TailEvent(Struct, frozen=True, kw_only=True):
    """The data of an EVENT."""

    at_ms: int
    """When it went through, epoch milliseconds."""

    id: str | None = None
    type: str | None = None
    event: Event = NOTHING
    """As it would leave; null if it is not shown."""

    problem: Problem | None = None
    """Why the event is not shown."""

    @property
    def shown(self) -> bytes | None:
        """The event's JSON; None if it is not shown."""
        return None if self.event == NOTHING else bytes(self.event)


class LeftOut(Struct, frozen=True, kw_only=True):
    """The data of a LEFT_OUT."""

    events: int
    uncounted: bool = False
    """Whether there may be more."""


class Ended(Struct, frozen=True, kw_only=True):
    """The data of an END."""

    reason: str


class Message(NamedTuple):
    """One message of a stream."""

    name: str
    data: bytes
    """JSON, perhaps of several lines."""


def encoded(name: TailMessage, data: Any) -> bytes:
    """A message as it is sent. JSON's line breaks, which are between its tokens only, become lines of it."""
    lines = b"".join(b"data: %b\n" % line for line in _encode(data).splitlines())
    return b"event: %b\n%b\n" % (name.encode(), lines)


class MessageReader:
    """Finds the messages in what comes in. Comments and other fields are left out."""

    def __init__(self) -> None:
        self._rest = b""
        self._name = ""
        self._data: list[bytes] = []

    def feed(self, received: bytes) -> Iterator[Message]:
        """The messages that are complete now."""
        *lines, self._rest = (self._rest + received).split(b"\n")
        for line in lines:
            if line.startswith(b"event: "):
                self._name = line[7:].decode(errors="replace")
            elif line.startswith(b"data: "):
                self._data.append(line[6:])
            elif not line and self._name:
                yield Message(self._name, b"\n".join(self._data))
                self._name, self._data = "", []
