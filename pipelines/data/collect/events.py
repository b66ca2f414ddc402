"""One raw event to an item of `collected`, or to the reason why not. Pure."""

import base64
import binascii
from collections.abc import Callable
from functools import lru_cache
from typing import Any

import msgspec
from msgspec import UNSET, Raw, Struct

from pipelines.data.collect.attributes import read_attributes
from pipelines.data.collect.content_types import Format
from pipelines.data.collect.errors import Refusal
from pipelines.data.collect.json_validation import UNREADABLE, beyond, explain, parse
from shared.contracts.envelope import CollectedItem, collected_item, is_json, stamp_minute
from shared.contracts.limits import MAX_EVENT_BYTES
from shared.contracts.timestamps import format_time, parse_time

WRAPPED_TYPE = "hifi.event"
"""The `type` of an event that came as plain JSON."""

_BINARY_MEND = "set datacontenttype to what the bytes are, for example application/octet-stream"


class Intake(Struct, frozen=True):
    """What an event gets from its request."""

    source: str
    """Name of the source that the write key belongs to."""

    received_ms: int
    new_id: Callable[[], str]
    received: str = ""
    """`received_ms` in RFC 3339."""

    @classmethod
    def at(cls, received_ms: int, source: str, new_id: Callable[[], str]) -> "Intake":
        """The intake of a request whose last byte came in at `received_ms`."""
        return cls(source, received_ms, new_id, format_time(received_ms))


class Taken(Struct, frozen=True, gc=False):
    """An event that is fit to travel."""

    id: str
    item: CollectedItem
    late: bool


class _Data(Struct, gc=False):
    data: Raw | msgspec.UnsetType = UNSET


_is_json = lru_cache(maxsize=256)(is_json)
_data_decoder = msgspec.json.Decoder(_Data)


def read(form: Format, raw: bytes, intake: Intake) -> Taken | Refusal:
    """Judge one raw event; never raises for what a client may send."""
    if len(raw) > MAX_EVENT_BYTES:
        return Refusal(f"the event is larger than {MAX_EVENT_BYTES} bytes", "$", "send its bulk elsewhere")
    try:
        members = parse(raw)
    except UNREADABLE as error:
        return explain(raw, error)
    if type(members) is not dict:
        return Refusal("the event is not a JSON object", "$", "send an object")
    if refusal := beyond(raw):
        return refusal
    if form is Format.PLAIN:
        return _wrap(raw, intake)
    return _read_event(raw, members, intake)


def _wrap(raw: bytes, intake: Intake) -> Taken:
    """Plain JSON as the data of an event of its own."""
    identifier = intake.new_id()
    attributes = {
        "id": identifier,
        "source": f"/sources/{intake.source}",
        "type": WRAPPED_TYPE,
        "time": intake.received,
    }
    minute, late = stamp_minute(intake.received_ms, intake.received_ms)
    return Taken(identifier, collected_item(attributes, minute=minute, data=raw.decode()), late)


def _read_event(raw: bytes, members: dict[str, Any], intake: Intake) -> Taken | Refusal:
    attributes = read_attributes(members)
    if isinstance(attributes, Refusal):
        return attributes
    time = attributes.setdefault("time", intake.received)
    time_ms = parse_time(time)
    if time_ms is None:
        return Refusal("time is not in RFC 3339", "time", "write it like 2026-01-31T12:00:00.000Z")
    data = _read_data(raw, members, attributes.get("datacontenttype"))
    if isinstance(data, Refusal):
        return data
    text, encoded = data
    minute, late = stamp_minute(time_ms, intake.received_ms)
    item = collected_item(attributes, minute=minute, data=text, data_base64=encoded)
    return Taken(attributes["id"], item, late)


def _read_data(
    raw: bytes, members: dict[str, Any], content_type: str | None
) -> tuple[str | None, str | None] | Refusal:
    """The event's data as text and as base64, at most one of them given."""
    encoded = members.get("data_base64")
    if encoded is not None:
        if "data" in members:
            return Refusal("both data and data_base64 are given", "data_base64", "leave one of them out")
        return _read_binary(encoded, content_type)
    if "data" not in members:
        return None, None
    value = members["data"]
    if not _is_json(content_type):
        return _read_text(value)
    return bytes(_data_decoder.decode(raw).data).decode(), None  # type: ignore[arg-type]


def _read_text(value: object) -> tuple[str | None, None] | Refusal:
    """A string of another format than JSON is the data itself (CloudEvents JSON format, section 3.1.1)."""
    if value is None or type(value) is str:
        return value, None
    fix = "put it in quotes, use data_base64, or declare JSON in datacontenttype"
    return Refusal("data is no string, and datacontenttype is not JSON", "data", fix)


def _read_binary(encoded: object, content_type: str | None) -> tuple[str | None, str | None] | Refusal:
    """Base64 data; where it is declared to be JSON it has to be JSON, and travels as text."""
    try:
        data = base64.b64decode(encoded, validate=True)  # type: ignore[arg-type]
    except (TypeError, ValueError, binascii.Error):
        return Refusal("data_base64 is not base64", "data_base64", "encode the bytes as RFC 4648, section 4")
    if not _is_json(content_type):
        return None, str(encoded)
    try:
        parse(data)
    except UNREADABLE as error:
        wrong = explain(data, error)
        return Refusal(f"data_base64 should hold JSON: {wrong.detail}", "data_base64", _BINARY_MEND)
    return beyond(data) or (data.decode(), None)
