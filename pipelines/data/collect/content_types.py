"""The content types collect takes, and how each is cut into raw events."""

from collections.abc import Sequence
from email.message import Message
from enum import Enum
from functools import lru_cache

import msgspec

from pipelines.data.collect.array_recovery import salvage
from pipelines.data.collect.body import require_events
from pipelines.data.collect.errors import Refusal, RefusedError, malformed
from shared.contracts.limits import MAX_REQUEST_EVENTS

WHITESPACE = b" \t\r\n"
"""JSON's."""

_items = msgspec.json.Decoder(list[msgspec.Raw])


class Format(Enum):
    """What a body is; the value is its media type."""

    EVENT = "application/cloudevents+json"
    BATCH = "application/cloudevents-batch+json"
    LINES = "application/x-ndjson"
    PLAIN = "application/json"


_BY_TYPE = {each.value: each for each in Format}


@lru_cache(maxsize=64)
def parse_content_type(value: str) -> Format:
    """The format that a `Content-Type` header names.

    Raises:
        RefusedError: 415, it is none of ours or not in UTF-8.
    """
    header = Message()
    header["content-type"] = value
    found = _BY_TYPE.get(header.get_content_type()) if value else None
    charset = header.get_content_charset("utf-8")
    if found is None:
        raise _unknown(f"content type {value!r} is not taken" if value else "there is no content type")
    if charset.replace("-", "").replace("_", "") != "utf8":
        raise _unknown(f"charset {charset!r} is not taken: JSON is UTF-8 (RFC 8259, section 8.1)")
    return found


def split(form: Format, body: bytes) -> Sequence[bytes]:
    """The raw events of a body, each still to be judged.

    Raises:
        RefusedError: 400 if there is none or the array cannot be cut, 413 if there are too many.
    """
    if form is Format.LINES:
        require_events(body.count(b"\n") + 1, 2 * MAX_REQUEST_EVENTS)  # before a list of them is made
        raws: Sequence[bytes] = [line for line in body.split(b"\n") if line.strip()]
    elif form is Format.EVENT or not body.lstrip(WHITESPACE).startswith(b"["):
        raws = _single(form, body)
    else:
        raws = _array(body)
    require_events(len(raws), MAX_REQUEST_EVENTS)
    return raws


def _single(form: Format, body: bytes) -> list[bytes]:
    raw = body.strip(WHITESPACE)
    if form is Format.BATCH and raw.startswith(b"{"):
        raise malformed("a batch is an array, this is one object", f"use content type {Format.EVENT.value}")
    return [raw] if raw else []


def _array(body: bytes) -> Sequence[bytes]:
    try:
        found = _items.decode(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        salvaged = salvage(body.strip(WHITESPACE))
        if salvaged is None:
            raise malformed(f"the array cannot be read: {error}", "send valid JSON (RFC 8259)") from error
        return salvaged
    require_events(len(found), MAX_REQUEST_EVENTS)  # before they are copied
    return [bytes(raw) for raw in found]


def _unknown(error: str) -> RefusedError:
    fix = "use " + ", ".join(_BY_TYPE)
    return RefusedError(415, Refusal(error, "content-type", fix))
