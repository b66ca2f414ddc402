"""Rows of an Arrow batch to events, and what is wrong with those that cannot be sent."""

from collections.abc import Iterator, Mapping
from typing import Any, Final

import msgspec
import pyarrow as pa

from pipelines.data.transmit.events import Event, Poison
from pipelines.data.transmit.schema import FLAT
from shared.contracts import headers as h
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES
from shared.contracts.receipts import KEY_BYTES

_REQUIRED: Final = (h.PIPE, h.CE_ID, h.CE_SOURCE, h.CE_TYPE)
_STAMPS: Final = (h.MINUTE, h.RECEIVED, h.ATTEMPT)
_PREFIX: Final = len(h.CE_PREFIX)
_MAX_DIGITS: Final = 18

_headers = msgspec.json.Decoder(dict[str, str | None])
_encoder = msgspec.json.Encoder()
_any_json = msgspec.json.Decoder(msgspec.Raw)


def read(batch: pa.RecordBatch) -> Iterator[Event | Poison]:
    """The rows of a batch in schema.FLAT, one of the two for each."""
    columns: list[list[Any]] = [batch.column(name).to_pylist() for name in FLAT]
    for key, value, text, topic, partition, offset in zip(*columns, strict=True):
        headers = _texts(text)
        problem = _header_problem(key, headers)
        event = None if problem else _event(key, value, headers)
        if event:
            problem = _size_problem(event, text) or _data_problem(event)
        if event and not problem:
            yield event
        else:
            yield Poison(key, value, headers, f"{topic}/{partition}/{offset}", problem)


def _texts(text: bytes | None) -> dict[str, str]:
    """The headers of a record, those without a value left out."""
    found = _headers.decode(text) if text else {}
    return {name: value for name, value in found.items() if value is not None}


def _header_problem(key: bytes | None, headers: Mapping[str, str]) -> str:
    """What hifi's own nodes should have written and did not."""
    if key is None or len(key) != KEY_BYTES:
        return f"unreadable: the key is not {KEY_BYTES} bytes"
    for name in _REQUIRED:
        if name not in headers:
            return f"unreadable: no header {name}"
    for name in _STAMPS:
        if _whole(headers.get(name)) is None:
            return f"unreadable: header {name} is missing or not a whole number"
    return "" if _whole(headers[h.ATTEMPT]) else f"unreadable: header {h.ATTEMPT} is less than 1"


def _whole(text: str | None) -> int | None:
    """The number that a header says, None if it says none."""
    if text is None or not text.isdigit() or not text.isascii() or len(text) > _MAX_DIGITS:
        return None
    return int(text)


def _event(key: bytes, value: bytes | None, headers: dict[str, str]) -> Event:
    """The event of a record without `_header_problem`."""
    return Event(
        key,
        value,
        headers[h.PIPE],
        headers[h.CE_ID],
        int(headers[h.MINUTE]),
        int(headers[h.RECEIVED]),
        int(headers[h.ATTEMPT]),
        _whole(headers.get(h.FIRST_TRY)),
        _attributes(headers),
        headers.get(h.CONTENT_TYPE),
        headers,
    )


def _attributes(headers: Mapping[str, str]) -> bytes:
    """The CloudEvents attributes as a JSON object: `ce_*` without the prefix, and `datacontenttype`."""
    found = {name[_PREFIX:]: text for name, text in headers.items() if name.startswith(h.CE_PREFIX)}
    if h.CONTENT_TYPE in headers:
        found["datacontenttype"] = headers[h.CONTENT_TYPE]
    return _encoder.encode(found)


def _size_problem(event: Event, text: bytes) -> str:
    too_large = len(text) > MAX_HEADERS_BYTES or len(event.value or b"") > MAX_READABLE_BYTES
    return "oversized: more than any node writes" if too_large else ""


def _data_problem(event: Event) -> str:
    """Why the data cannot be spliced into a request: it would spoil the body for its neighbours."""
    if event.value is None or not event.is_json:
        return ""
    try:
        _any_json.decode(event.value)
        if not event.value.isascii():
            event.value.decode()
    except (msgspec.DecodeError, UnicodeDecodeError, RecursionError) as error:
        return f"bad_data: declared as JSON, but {error}"
    return ""
