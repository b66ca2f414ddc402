"""Validates one raw event and turns it into an item of a `collected` record. Pure."""

import base64
import binascii
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from shared.cloudevents.attributes import read_attributes
from shared.cloudevents.json_validation import PARSE_ERRORS, check_limits, explain, parse
from shared.cloudevents.refusal import Refusal
from shared.contracts.envelope import CollectedItem, collected_item, is_json, stamp_minute
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.timestamps import format_time, parse_time

WRAPPED_TYPE = "hifi.event"
"""The `type` of an event that was sent as plain JSON."""

_QUAD = 4
"""Characters of base64 that stand together, padding included."""

_BINARY_FIX = "set datacontenttype to what the bytes are, for example application/octet-stream"


class RequestContext(Struct, frozen=True):
    """The values that an event takes over from its request."""

    source: str
    """Name of the source that the write key belongs to."""

    received_ms: int
    new_id: Callable[[], str]
    received: str = ""
    """`received_ms` in RFC 3339."""

    @classmethod
    def at(cls, received_ms: int, source: str, new_id: Callable[[], str]) -> "RequestContext":
        """The context of a request; `received_ms` is when its last byte arrived."""
        return cls(source, received_ms, new_id, format_time(received_ms))


class AcceptedEvent(Struct, frozen=True, gc=False):
    """A valid event."""

    id: str
    item: CollectedItem
    late: bool


class _DataMember(Struct, gc=False):
    data: Raw | msgspec.UnsetType = UNSET


_is_json = lru_cache(maxsize=256)(is_json)
_data_decoder = msgspec.json.Decoder(_DataMember)


def read_cloudevent(raw: bytes, context: RequestContext) -> AcceptedEvent | Refusal:
    """Validate one event in CloudEvents' structured JSON format; never raises, whatever a client sends."""
    members = _members(raw)
    return members if isinstance(members, Refusal) else _cloudevent(raw, members, context)


def wrap_json(raw: bytes, context: RequestContext) -> AcceptedEvent | Refusal:
    """Validate plain JSON, which becomes the data of a new event; never raises, whatever a client sends."""
    members = _members(raw)
    return members if isinstance(members, Refusal) else _wrap(raw, context)


def _members(raw: bytes) -> dict[str, Any] | Refusal:
    if len(raw) > MAX_EVENT_BYTES:
        return Refusal(f"the event is larger than {MAX_EVENT_BYTES} bytes", "$", "send its bulk elsewhere")
    try:
        members = parse(raw)
    except PARSE_ERRORS as error:
        return explain(raw, error)
    if type(members) is not dict:
        return Refusal("the event is not a JSON object", "$", "send an object")
    return check_limits(raw) or members


def _wrap(raw: bytes, context: RequestContext) -> AcceptedEvent:
    """Plain JSON as the data of a new event."""
    identifier = context.new_id()
    attributes = {
        "id": identifier,
        "source": f"/sources/{context.source}",
        "type": WRAPPED_TYPE,
        "time": context.received,
    }
    minute, late = stamp_minute(context.received_ms, context.received_ms)
    return AcceptedEvent(identifier, collected_item(attributes, minute=minute, data=raw.decode()), late)


def _cloudevent(raw: bytes, members: dict[str, Any], context: RequestContext) -> AcceptedEvent | Refusal:
    attributes = read_attributes(members)
    if isinstance(attributes, Refusal):
        return attributes
    time = attributes.setdefault("time", context.received)
    time_ms = parse_time(time)
    if time_ms is None:
        return Refusal("time is not in RFC 3339", "time", "write it like 2026-01-31T12:00:00.000Z")
    data = _data(raw, members, attributes.get("datacontenttype"))
    if isinstance(data, Refusal):
        return data
    text, encoded = data
    minute, late = stamp_minute(time_ms, context.received_ms)
    item = collected_item(attributes, minute=minute, data=text, data_base64=encoded)
    return AcceptedEvent(attributes["id"], item, late)


def _data(
    raw: bytes, members: dict[str, Any], content_type: str | None
) -> tuple[str | None, str | None] | Refusal:
    """The event's data as text or as base64; at most one is not None."""
    encoded = members.get("data_base64")
    if encoded is not None:
        if "data" in members:
            return Refusal("both data and data_base64 are given", "data_base64", "leave one of them out")
        return _binary_data(encoded, content_type)
    if "data" not in members:
        return None, None
    value = members["data"]
    if not _is_json(content_type):
        return _text_data(value)
    return bytes(_data_decoder.decode(raw).data).decode(), None  # type: ignore[arg-type]


def _text_data(value: object) -> tuple[str | None, None] | Refusal:
    """If the data is not JSON, the string is the data itself (CloudEvents JSON format, section 3.1.1)."""
    if value is None or type(value) is str:
        return value, None
    fix = "put it in quotes, use data_base64, or declare JSON in datacontenttype"
    return Refusal("data is not a string although datacontenttype is not JSON", "data", fix)


def _binary_data(encoded: object, content_type: str | None) -> tuple[str | None, str | None] | Refusal:
    """Base64 data; if it is declared to be JSON it must be JSON, and becomes text."""
    try:
        data = base64.b64decode(encoded, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError, binascii.Error):
        data = None
    if data is None or len(str(encoded)) % _QUAD:  # Python accepts surplus padding, Spark does not
        return Refusal("data_base64 is not base64", "data_base64", "encode the bytes as RFC 4648, section 4")
    if not _is_json(content_type):
        return None, str(encoded)
    try:
        parse(data)
    except PARSE_ERRORS as error:
        wrong = explain(data, error)
        return Refusal(f"data_base64 is declared to be JSON: {wrong.detail}", "data_base64", _BINARY_FIX)
    return check_limits(data) or (data.decode(), None)
