"""The supported content types, and how a body of each is split into raw events."""

from collections.abc import Sequence
from email.message import Message
from enum import Enum
from functools import lru_cache

from pipelines.data.collect.errors import RefusedError, malformed
from pipelines.data.collect.parsing.array_items import WHITESPACE, array_items, too_many_events
from shared.cloudevents.refusal import Refusal
from shared.contracts.limits import MAX_CONTENT_TYPE_CHARACTERS, MAX_REQUEST_EVENTS


class Format(Enum):
    """The format of a body; the value is its media type."""

    EVENT = "application/cloudevents+json"
    BATCH = "application/cloudevents-batch+json"
    LINES = "application/x-ndjson"
    PLAIN = "application/json"


_BY_TYPE = {each.value: each for each in Format}


@lru_cache(maxsize=64)
def parse_content_type(value: str) -> Format:
    """The format that a `Content-Type` header names.

    Raises:
        RefusedError: 415, it is not supported, not in UTF-8, or too long to be looked at.
    """
    if not value:
        raise _unsupported("the content type is missing")
    if len(value) > MAX_CONTENT_TYPE_CHARACTERS:
        raise _unsupported(f"the content type is longer than {MAX_CONTENT_TYPE_CHARACTERS} characters")
    media_type, charset = _media_type_and_charset(value)
    found = _BY_TYPE.get(media_type)
    if found is None:
        raise _unsupported(f"content type {value!r} is not supported")
    if charset.replace("-", "").replace("_", "") != "utf8":
        raise _unsupported(f"charset {charset!r} is not supported: JSON is UTF-8 (RFC 8259, section 8.1)")
    return found


def _media_type_and_charset(value: str) -> tuple[str, str]:
    """Both in lower case; the charset is UTF-8 if none is named. The time grows with the length squared."""
    header = Message()
    header["content-type"] = value
    try:
        return header.get_content_type(), header.get_content_charset("utf-8")
    except (TypeError, ValueError):  # of parameters in parts that do not fit together (RFC 2231, section 3)
        raise _unsupported(f"the parameters of content type {value!r} cannot be read") from None


def split(form: Format, body: bytes) -> Sequence[bytes]:
    """The raw events of a body, each still to be validated.

    Raises:
        RefusedError: 400 if there is none or the array cannot be split, 413 if there are too many.
    """
    if form is Format.LINES:
        require_events(body.count(b"\n") + 1, 2 * MAX_REQUEST_EVENTS)  # before they are split into a list
        raws: Sequence[bytes] = [line for line in body.split(b"\n") if line.strip()]
    elif form is Format.EVENT or not body.lstrip(WHITESPACE).startswith(b"["):
        raws = _single(form, body)
    else:
        raws = array_items(body)
    require_events(len(raws), MAX_REQUEST_EVENTS)
    return raws


def _single(form: Format, body: bytes) -> list[bytes]:
    raw = body.strip(WHITESPACE)
    if form is Format.BATCH and raw.startswith(b"{"):
        raise malformed("a batch is an array, this is one object", f"use content type {Format.EVENT.value}")
    return [raw] if raw else []


def _unsupported(detail: str) -> RefusedError:
    fix = "use " + ", ".join(_BY_TYPE)
    return RefusedError(415, Refusal(detail, "content-type", fix))


def require_events(count: int, limit: int) -> None:
    """Refuse a request without events (400) or with more than `limit` (413)."""
    if count == 0:
        raise malformed("the body contains no event", "send at least one event")
    if count > limit:
        raise too_many_events(limit)
