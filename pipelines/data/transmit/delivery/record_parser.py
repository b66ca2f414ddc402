"""Parses rows of an Arrow batch into events; gives the reason for rows that cannot be sent."""

from collections.abc import Iterator, Mapping
from typing import Annotated, Any, Final

import msgspec
import pyarrow as pa
from msgspec import Meta, Struct, field

from pipelines.data.transmit.events import Event, Poison, texts_of
from pipelines.data.transmit.schema import FLAT
from shared.contracts import headers as h
from shared.contracts.envelope import lag_since
from shared.contracts.headers import Headers, headers_size
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.receipts import KEY_BYTES
from shared.contracts.timestamps import parse_time

_REQUIRED: Final = (h.TENANT, h.PIPE, h.CE_ID, h.CE_SOURCE, h.CE_TYPE)
_STAMPS: Final = (h.MINUTE, h.RECEIVED, h.ATTEMPT)

_Whole = Annotated[int, Meta(ge=0, lt=10**h.MAX_DIGITS)]
_CE: Final = f'"{h.CE_PREFIX}'.encode()


class _Stamped(Struct, gc=False):
    """hifi's own headers; numbers are strings of digits."""

    tenant: str = field(name=h.TENANT)
    pipe: str = field(name=h.PIPE)
    minute: _Whole = field(name=h.MINUTE)
    received_ms: _Whole = field(name=h.RECEIVED)
    attempt: Annotated[int, Meta(ge=1, lt=10**h.MAX_DIGITS)] = field(name=h.ATTEMPT)
    id: str = field(name=h.CE_ID)
    source: str = field(name=h.CE_SOURCE)
    type: str = field(name=h.CE_TYPE)
    specversion: str = field(name=h.CE_PREFIX + "specversion", default="")
    time: str = field(name=h.CE_TIME, default="")
    datacontenttype: str | None = field(name=h.CONTENT_TYPE, default=None)
    first_try: str | None = field(name=h.FIRST_TRY, default=None)
    traceparent: str | None = field(name=h.TRACEPARENT, default=None)
    replay: str | None = field(name=h.REPLAY, default=None)
    not_before: str | None = field(name=h.NOT_BEFORE, default=None)


class _Attributes(Struct, gc=False, omit_defaults=True):
    """The CloudEvents attributes that nearly every event has."""

    specversion: str
    id: str
    source: str
    type: str
    time: str
    datacontenttype: str | None = None


class _Unreadable(Struct, frozen=True):
    """A record is not a valid event. The text is a word, a colon and a sentence."""

    reason: str


_USUAL: Final = 5
"""Attributes that travel with the prefix and are required in `_Attributes`."""

_stamped = msgspec.json.Decoder(_Stamped, strict=False)
_encoder = msgspec.json.Encoder()
_any_json = msgspec.json.Decoder(msgspec.Raw)


def read(batch: pa.RecordBatch) -> Iterator[Event | Poison]:
    """Parse the rows of a batch in `schema.FLAT`, each to an event or to what is wrong with it."""
    columns: list[list[Any]] = [batch.column(name).to_pylist() for name in FLAT]
    for key, value, text, topic, partition, offset in zip(*columns, strict=True):
        parsed = _parsed(key, value, text or b"{}")
        if isinstance(parsed, Event):
            yield parsed
        else:
            yield Poison(key, value, text or b"{}", f"{topic}/{partition}/{offset}", parsed.reason)


def _parsed(key: bytes | None, value: bytes | None, text: bytes) -> Event | _Unreadable:
    """Parse one record."""
    if key is None or len(key) != KEY_BYTES:
        return _Unreadable(f"unreadable: the key is not {KEY_BYTES} bytes")
    try:
        found = _stamped.decode(text)
    except msgspec.ValidationError as error:
        return _Unreadable(_header_problem(texts_of(text)) or f"unreadable: {error}")
    event = _event(key, value, text, found)
    problem = _size_problem(event) or _data_problem(event)
    return _Unreadable(problem) if problem else event


def _event(key: bytes, value: bytes | None, text: bytes, found: _Stamped) -> Event:
    return Event(
        key,
        found.pipe,
        found.id,
        found.minute,
        found.received_ms,
        lag_since(parse_time(found.time), found.received_ms),
        found.attempt,
        _whole(found.first_try),
        found.tenant,
        found.traceparent,
        found.replay,
        _whole(found.not_before),
        value=value,
        attributes=_attributes(found, text),
        content_type=found.datacontenttype,
        texts=text,
    )


def _header_problem(headers: Mapping[str, str]) -> str:
    for name in _REQUIRED:
        if name not in headers:
            return f"unreadable: no header {name}"
    for name in _STAMPS:
        if _whole(headers.get(name)) is None:
            return f"unreadable: header {name} is missing or not a whole number"
    return "" if _whole(headers[h.ATTEMPT]) else f"unreadable: header {h.ATTEMPT} is less than 1"


def _whole(text: str | None) -> int | None:
    """The whole number in a header; None if it does not hold one."""
    if text is None or not text.isdigit() or not text.isascii() or len(text) > h.MAX_DIGITS:
        return None
    return int(text)


def _attributes(found: _Stamped, text: bytes) -> bytes:
    """The CloudEvents attributes as a JSON object: `ce_*` without the prefix, and `datacontenttype`.

    If the prefix occurs no more often than in the usual attributes, there are no others.
    """
    if found.time and found.specversion and text.count(_CE) == _USUAL:
        usual = (found.specversion, found.id, found.source, found.type, found.time)
        return _encoder.encode(_Attributes(*usual, found.datacontenttype))
    prefix = len(h.CE_PREFIX)
    headers = texts_of(text)
    every = {name[prefix:]: value for name, value in headers.items() if name.startswith(h.CE_PREFIX)}
    if found.datacontenttype is not None:
        every["datacontenttype"] = found.datacontenttype
    return _encoder.encode(every)


def _size_problem(event: Event) -> str:
    too_large = len(event.value or b"") > MAX_READABLE_BYTES or (
        len(event.texts) > MAX_HEADERS_BYTES and headers_size(_kept(event)) > MAX_HEADERS_BYTES
    )
    return "oversized: larger than any record that hifi writes" if too_large else ""


def _kept(event: Event) -> Headers:
    """The headers that later records of it have too: the names of all its pipes may be megabytes."""
    return [(name, value) for name, value in event.headers if name != h.PIPES]


def _data_problem(event: Event) -> str:
    """Why the data cannot be put into a request, where it would make the body invalid for other events."""
    if event.value is None or not event.is_json:
        return ""
    try:
        _any_json.decode(event.value)
        if not event.value.isascii():
            event.value.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"bad_data: declared as JSON, but {error}"
    return ""
