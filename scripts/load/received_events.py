"""Ids and times of the events in a request to a destination; nothing else is decoded. Pure."""

from collections.abc import Mapping

import msgspec
from msgspec import Struct

from scripts.load.timestamps import parse_ms


class EventHead(Struct, frozen=True, gc=False):
    """Id and time of an event."""

    id: str
    time: str | None = None


class UnreadableError(ValueError):
    """A body without readable events."""


_one = msgspec.json.Decoder(EventHead)
_many = msgspec.json.Decoder(list[EventHead])


def heads(body: bytes, headers: Mapping[str, str]) -> list[EventHead]:
    """Ids and times of the events of a request: a JSON array, one object, NDJSON, or binary mode.

    Raises:
        UnreadableError: if the body is none of these, or an event lacks its id.
    """
    if "ce-id" in headers:
        return [EventHead(headers["ce-id"], headers.get("ce-time"))]
    try:
        if body.lstrip()[:1] == b"[":
            return _many.decode(body)
        if "ndjson" in headers.get("Content-Type", ""):
            return _one.decode_lines(body)
        return [_one.decode(body)]
    except msgspec.MsgspecError as error:
        raise UnreadableError(str(error)) from error


def lags(events: list[EventHead], received_ms: int) -> list[int | None]:
    """Arrival minus the event's time, in milliseconds; None if it has no readable time."""
    times = [None if event.time is None else parse_ms(event.time) for event in events]
    return [None if time is None else received_ms - time for time in times]
