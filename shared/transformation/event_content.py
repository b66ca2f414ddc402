"""The part of an event that masks and transforms see and change: its attributes and its data."""

from typing import Final, Self

from msgspec import Struct

from shared.contracts.envelope import data_member, is_json

_JSON: Final = "application/json"


class EventContent(Struct, kw_only=True, gc=False):
    """Attributes and data of one event, as a record carries them."""

    value: bytes | None
    """The bytes of `data`."""

    attributes: bytes
    """The CloudEvents attributes as a JSON object, `datacontenttype` included."""

    content_type: str | None
    texts: bytes
    """All headers of the record, as a JSON object of texts."""

    untouched: Self | None = None
    """The original event, if its pipe's masks or transform changed it."""

    @property
    def as_read(self) -> Self:
        """The original event, which is written to retry and dead-letter topics."""
        return self.untouched or self

    @property
    def is_json(self) -> bool:
        """Whether the data is JSON; the common cases need no parsing of the content type."""
        return self.content_type is None or self.content_type == _JSON or is_json(self.content_type)


def structured(event: EventContent) -> bytes:
    """One event in CloudEvents' structured JSON format; JSON data is its bytes, untouched."""
    if event.value is None:
        return event.attributes
    if event.is_json:
        return b'%b,"data":%b}' % (event.attributes[:-1], event.value)
    return event.attributes[:-1] + data_member(event.content_type, event.value) + b"}"
