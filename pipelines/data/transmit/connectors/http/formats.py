"""The body formats of HTTP destinations. Pure."""

from collections.abc import Callable, Mapping, Sequence
from typing import Final, NamedTuple

from pipelines.data.transmit.events import Event
from shared.connectors.webhook import Format
from shared.contracts.envelope import data_member
from shared.transformation.event_content import structured

_LINE_BREAKS: Final = bytes.maketrans(b"\r\n", b"  ")


class Content(NamedTuple):
    """A request's body."""

    content_type: str
    body: bytes


def content(format_: Format, events: Sequence[Event]) -> Content:
    """The body of a request with these events; JSON data is the received bytes, untouched.

    Only ndjson touches them: line breaks between a value's tokens become blanks. Inside a JSON string there
    are none (RFC 8259, 7).
    """
    content_type, write = _WRITERS[format_]
    return Content(content_type, write(events))


def body(events: Sequence[Event]) -> bytes:
    """The events in CloudEvents' JSON batch format; JSON data is the received bytes, untouched."""
    return b"[" + b",".join([structured(event) for event in events]) + b"]"


def _array(events: Sequence[Event]) -> bytes:
    return b"[" + b",".join([_data(event) for event in events]) + b"]"


def _data(event: Event) -> bytes:
    """JSON data as it is, text as a JSON string, other bytes as one in base64, no data as null."""
    if event.value is None:
        return b"null"
    if event.is_json:
        return event.value
    return data_member(event.content_type, event.value).partition(b":")[2]


def line(event: Event) -> bytes:
    """One CloudEvent without a line break."""
    return structured(event).translate(_LINE_BREAKS)


def _lines(events: Sequence[Event]) -> bytes:
    return b"".join([line(event) + b"\n" for event in events])


def _single(events: Sequence[Event]) -> bytes:
    (event,) = events
    return structured(event)


_WRITERS: Final[Mapping[Format, tuple[str, Callable[[Sequence[Event]], bytes]]]] = {
    "batch": ("application/cloudevents-batch+json; charset=utf-8", body),
    "array": ("application/json", _array),
    "ndjson": ("application/x-ndjson", _lines),
    "event": ("application/cloudevents+json; charset=utf-8", _single),
}
