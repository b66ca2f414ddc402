"""Events as transmit handles them: one light object per record."""

from collections.abc import Mapping
from typing import Final

import msgspec

from shared.contracts.envelope import replayed_key
from shared.contracts.headers import Headers
from shared.transformation.event_content import EventContent


class Event(EventContent, gc=False):
    """One outbound record."""

    key: bytes
    """Delivery key, 16 bytes."""

    pipe: str
    id: str
    minute: int
    received_ms: int
    since_ms: int
    """The time from which its lags are measured, epoch milliseconds."""

    attempt: int
    first_try_ms: int | None
    tenant: str
    traceparent: str | None = None
    replay: str | None = None
    """The replay that it was processed again in."""

    not_before_ms: int | None = None
    """When the slow lane may send it, epoch milliseconds; None is at once."""

    @property
    def dedup_key(self) -> bytes:
        """Identifies one delivery of it: an event that is processed again is owed another one."""
        return self.key if self.replay is None else replayed_key(self.key, self.replay)

    @property
    def delivered_keys(self) -> tuple[bytes, ...]:
        """The keys remembered of its delivery. After one of a replay, no copy from before it is sent."""
        return (self.key,) if self.replay is None else (self.dedup_key, self.key)

    @property
    def headers(self) -> Headers:
        """All headers of the record, as Kafka has them."""
        return encoded(texts_of(self.texts))

    @property
    def size(self) -> int:
        """Approximate size in bytes."""
        return len(self.texts) + len(self.attributes) + len(self.value or b"")


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
