"""The envelope of events: CloudEvents attributes, the bytes of the data, and what collect adds.

CloudEvents 1.0.2 and its Kafka binding in binary mode. In `collected` an event is an item of a JSON array,
and its data is *text inside a JSON string*. Spark's from_json returns such a string exactly, but rewrites a
nested object (1.10 becomes 1.1).
"""

import base64
import hashlib
from collections.abc import Iterable, Mapping
from typing import Final

import msgspec

from shared.contracts.headers import attribute_header, header_attribute

SPEC_VERSION: Final = "1.0"
LATE_MS: Final = 5 * 60_000
EARLY_MS: Final = 30_000
MINUTE_MS: Final = 60_000
HOUR_MS: Final = 60 * MINUTE_MS
DAY_MS: Final = 24 * HOUR_MS


REQUIRED_ATTRIBUTES: Final = ("id", "source", "type", "time")
"""CloudEvents' own and the time, which collect stamps where a client gave none."""


class CollectedItem(msgspec.Struct, kw_only=True, omit_defaults=True, frozen=True):
    """One event inside a `collected` record. Exactly one of `data` and `data_base64`, or neither.

    Made for the reader: ingest takes the required attributes as columns and the others as headers, without a
    look at each name.
    """

    id: str
    source: str
    type: str
    time: str

    minute: int
    """Epoch minute, see `stamp_minute`."""

    headers: dict[str, str] = msgspec.field(default_factory=dict)
    """The other attributes as text, by the Kafka header that will carry them; specversion left out (it is
    always SPEC_VERSION)."""

    data: str | None = None
    """The text of `data` exactly as received."""

    data_base64: str | None = None
    """Binary data, as the `data_base64` member had it."""

    @property
    def attributes(self) -> dict[str, str]:
        """CloudEvents context attributes by name, specversion left out."""
        required = {name: getattr(self, name) for name in REQUIRED_ATTRIBUTES}
        return required | {header_attribute(header): text for header, text in self.headers.items()}


def collected_item(
    attributes: Mapping[str, str], *, minute: int, data: str | None = None, data_base64: str | None = None
) -> CollectedItem:
    """The item of an event with these attributes.

    Raises:
        KeyError: if a required attribute is missing.
    """
    others = {
        attribute_header(name): text for name, text in attributes.items() if name not in REQUIRED_ATTRIBUTES
    }
    return CollectedItem(
        id=attributes["id"],
        source=attributes["source"],
        type=attributes["type"],
        time=attributes["time"],
        minute=minute,
        headers=others,
        data=data,
        data_base64=data_base64,
    )


_encoder = msgspec.json.Encoder()


def encode_items(items: Iterable[CollectedItem]) -> bytes:
    """The value of one `collected` record."""
    return join_items([encode_item(item) for item in items])


def encode_item(item: CollectedItem) -> bytes:
    """One item of a `collected` record's value, for a caller who has to know its size."""
    return _encoder.encode(item)


def join_items(encoded: Iterable[bytes]) -> bytes:
    """The value of one `collected` record from items of `encode_item`."""
    return b"[" + b",".join(encoded) + b"]"


def stamp_minute(time_ms: int, received_ms: int) -> tuple[int, bool]:
    """The epoch minute an event is tallied in, and whether it counts as late.

    The event time's own minute where that time lies within 5 minutes before and 30 s after the receive
    time, otherwise the receive time's minute.
    """
    on_time = received_ms - LATE_MS <= time_ms <= received_ms + EARLY_MS
    return (time_ms if on_time else received_ms) // MINUTE_MS, not on_time


def lag_since(time_ms: int | None, received_ms: int) -> int:
    """The time from which an event's lags are measured, which also gives its minute; epoch milliseconds."""
    if time_ms is None:
        return received_ms
    return received_ms if stamp_minute(time_ms, received_ms)[1] else time_ms


def delivery_key(tenant: str, pipe: str, source: str, event_id: str) -> bytes:
    """16 bytes that identify one delivery: this event (CloudEvents source and id) through this tenant's pipe.

    The Kafka key of `outbound` and `retry_out`, so that both copies of an event that a crash repeats meet in
    one partition, and what transmit remembers of it. MD5 because Spark computes it natively; it guards
    against chance, not against an attacker, who could only collide with their own events: tenant and pipe,
    which hold no NUL, come first.
    """
    text = "\0".join((tenant, pipe, source, event_id))
    return hashlib.md5(text.encode(), usedforsecurity=False).digest()


def replayed_key(key: bytes, replay: str) -> bytes:
    """The key by which transmit remembers a delivery of an event that is processed again: 16 bytes.

    Another key than that of its first delivery, so that it is sent; the same for all copies of one replay, so
    that it is sent once.
    """
    return hashlib.md5(key + replay.encode(), usedforsecurity=False).digest()


def is_json(content_type: str | None) -> bool:
    """Whether `datacontenttype` declares JSON (CloudEvents JSON format, section 3.1: absent means JSON)."""
    if not content_type:
        return True
    media = content_type.partition(";")[0].strip().lower()
    return media.endswith(("/json", "+json"))


def structured(attributes: Mapping[str, str], data: bytes | None) -> bytes:
    """The event in CloudEvents' structured JSON format, JSON data spliced in byte for byte."""
    head = _encoder.encode({"specversion": SPEC_VERSION, **attributes})
    if data is None:
        return head
    return head[:-1] + data_member(attributes.get("datacontenttype"), data) + b"}"


def data_member(content_type: str | None, data: bytes) -> bytes:
    """`,"data":…` or `,"data_base64":…`, whichever carries these bytes without loss."""
    if is_json(content_type):
        return b',"data":' + data
    try:
        return b',"data":' + _encoder.encode(data.decode())
    except UnicodeDecodeError:
        return b',"data_base64":"' + base64.b64encode(data) + b'"'
