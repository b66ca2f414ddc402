"""The supported content types, and how a body of each is split into raw events."""

import re
from collections.abc import Sequence
from email.message import Message
from enum import Enum
from functools import lru_cache

import msgspec

from pipelines.data.collect.errors import RefusedError, malformed
from shared.cloudevents.refusal import Refusal
from shared.contracts.limits import MAX_REQUEST_EVENTS

_TOKEN = re.compile(
    rb'(?P<string>"[^"\\]*(?:\\.[^"\\]*)*")'
    rb"|(?P<open>[\[{])|(?P<close>[\]}])|(?P<comma>,)"
    rb"|:|[ \t\r\n]+|-?(?:Infinity|NaN)|true|false|null|[-+.0-9eE]+",
    re.DOTALL,
)
_MAX_DEPTH = 1000
_MAX_TOKENS = 250_000  # about a tenth of a second

WHITESPACE = b" \t\r\n"
"""JSON's."""

_items = msgspec.json.Decoder(list[msgspec.Raw])


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
        RefusedError: 415, it is not supported or not in UTF-8.
    """
    header = Message()
    header["content-type"] = value
    found = _BY_TYPE.get(header.get_content_type()) if value else None
    charset = header.get_content_charset("utf-8")
    if found is None:
        raise _unsupported(
            f"content type {value!r} is not supported" if value else "the content type is missing"
        )
    if charset.replace("-", "").replace("_", "") != "utf8":
        raise _unsupported(f"charset {charset!r} is not supported: JSON is UTF-8 (RFC 8259, section 8.1)")
    return found


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
        salvaged = recover_items(body.strip(WHITESPACE))
        if salvaged is None:
            raise malformed(f"the array cannot be read: {error}", "send valid JSON (RFC 8259)") from error
        return salvaged
    require_events(len(found), MAX_REQUEST_EVENTS)  # before they are copied
    return [bytes(raw) for raw in found]


def _unsupported(detail: str) -> RefusedError:
    fix = "use " + ", ".join(_BY_TYPE)
    return RefusedError(415, Refusal(detail, "content-type", fix))


def require_events(count: int, limit: int) -> None:
    """Refuse a request without events (400) or with more than `limit` (413)."""
    if count == 0:
        raise malformed("the body contains no event", "send at least one event")
    if count > limit:
        refusal = Refusal(
            f"{count} events in one request, the limit is {limit}", "body", "send fewer events in a request"
        )
        raise RefusedError(413, refusal)


def recover_items(text: bytes) -> list[bytes] | None:
    """The raw items of an array; None if their ends are uncertain.

    Outside strings only JSON's own tokens, NaN and Infinity are allowed. If a quote is missing, the text of a
    string stands outside and the array is rejected, so text from inside a string is never taken for an event.
    """
    items: list[bytes] = []
    depth = start = at = 0
    for _ in range(_MAX_TOKENS):
        if at == len(text):
            break
        token = _TOKEN.match(text, at)
        if token is None or (depth == 0 and at > 0) or depth > _MAX_DEPTH:
            return None
        if token.lastgroup == "open":
            depth += 1
            start = start or token.end()
        elif token.lastgroup == "close":
            depth -= 1
        if (token.lastgroup == "comma" and depth == 1) or depth == 0:
            items.append(text[start:at].strip())
            start = token.end()
        at = token.end()
    whole = at == len(text) and depth == 0 and text.startswith(b"[") and text.endswith(b"]")
    return items if whole else None
