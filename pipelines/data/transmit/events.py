"""Events as transmit handles them: one light object per record."""

from collections.abc import Mapping
from typing import Final

import msgspec

from shared.contracts.envelope import is_json

_JSON: Final = "application/json"

Headers = list[tuple[str, bytes | None]]
"""Kafka headers in order; a name may occur twice."""


class Event(msgspec.Struct, gc=False):
    """One outbound record."""

    key: bytes
    """Delivery key, 16 bytes."""

    value: bytes | None
    """The bytes of `data`."""

    pipe: str
    id: str
    minute: int
    received_ms: int
    since_ms: int
    """The time from which its lags are measured, epoch milliseconds."""

    attempt: int
    first_try_ms: int | None
    attributes: bytes
    """The CloudEvents attributes as a JSON object, `datacontenttype` included."""

    content_type: str | None
    tenant: str | None
    texts: bytes
    """All headers of the record, as a JSON object of texts."""

    traceparent: str | None = None
    untouched: "Event | None" = None
    """The original event, if its pipe's masks or transform changed it."""

    @property
    def as_read(self) -> "Event":
        """The original event, which is written to retry and dead-letter topics."""
        return self.untouched or self

    @property
    def headers(self) -> Headers:
        """All headers of the record, as Kafka has them."""
        return encoded(texts_of(self.texts))

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return len(self.texts) + len(self.attributes) + len(self.value or b"")

    @property
    def is_json(self) -> bool:
        """Whether the data is JSON; the common cases need no parsing of the content type."""
        return self.content_type is None or self.content_type == _JSON or is_json(self.content_type)


class Poison(msgspec.Struct, frozen=True):
    """A record that cannot be parsed into an event, so it goes to quarantine."""

    key: bytes | None
    value: bytes | None
    texts: bytes
    origin: str
    """`topic/partition/offset`."""

    reason: str

    @property
    def headers(self) -> Headers:
        """All headers of the record, as Kafka has them."""
        return encoded(texts_of(self.texts))


_texts = msgspec.json.Decoder(dict[str, str | None])


def texts_of(text: bytes) -> dict[str, str]:
    """The headers in a JSON object of texts, those without a value left out."""
    return {name: value for name, value in _texts.decode(text).items() if value is not None}


def headers_size(headers: Headers) -> int:
    """Bytes of all names and values."""
    return sum(len(name.encode()) + len(value or b"") for name, value in headers)


def encoded(texts: Mapping[str, str]) -> Headers:
    """Kafka headers of texts."""
    return [(name, text.encode()) for name, text in texts.items()]


PARTITION_KEY: Final = "partitionkey"
"""CloudEvents' partitioning extension."""

_decoder: Final = msgspec.json.Decoder(dict[str, str])


def attributes_of(event: Event) -> dict[str, str]:
    """The attributes by name, after masking."""
    return _decoder.decode(event.attributes)


def partition_key(event: Event, attributes: dict[str, str]) -> str:
    """The key that selects a shard or partition: the attribute `partitionkey`, else the event's id.

    So a repeat goes to the same shard or partition as the first copy.
    """
    return attributes.get(PARTITION_KEY) or event.id
