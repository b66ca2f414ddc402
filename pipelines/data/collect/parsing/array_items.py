"""Splits an array of events into its raw items."""

import re
from collections.abc import Sequence
from typing import Any, Final

import msgspec
from msgspec import UNSET, Raw, UnsetType

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

_SMALL_BYTES: Final = 128 * 1024
"""An array up to this size is decoded whole, however many items it holds: 65,536 at most, in about 5 ms."""

_USUAL_EVENTS: Final = 1_000
_any_items = msgspec.json.Decoder(list[Raw])


def _at_most(events: int) -> msgspec.json.Decoder[Any]:
    """Decodes an array, and ends at the first item too many; a list's `max_length` is checked at its end."""
    fields = [(f"item_{n}", Raw | UnsetType, UNSET) for n in range(events)]
    items = msgspec.defstruct("Items", fields, array_like=True, forbid_unknown_fields=True, gc=False)
    return msgspec.json.Decoder(items)


_bounded_items: Final = (_at_most(_USUAL_EVENTS), _at_most(MAX_REQUEST_EVENTS))
"""The smaller one first: it takes less time for the few events that a large body usually holds."""


def array_items(body: bytes) -> Sequence[bytes]:
    """The raw items of an array, each still to be validated.

    Raises:
        RefusedError: 400 if it cannot be split, 413 if there are too many.
    """
    try:
        found = _any_items.decode(body) if len(body) <= _SMALL_BYTES else _items_of_large(body)
    except (msgspec.MsgspecError, RecursionError) as error:
        recovered = recover_items(body.strip(WHITESPACE))
        if recovered is None:
            raise malformed(f"the array cannot be read: {error}", "send valid JSON (RFC 8259)") from error
        return recovered
    if len(found) > MAX_REQUEST_EVENTS:  # before they are copied
        raise too_many_events(MAX_REQUEST_EVENTS)
    return list(map(bytes, found))


def _items_of_large(body: bytes) -> Sequence[Raw]:
    for decoder in _bounded_items:
        try:
            items = msgspec.structs.astuple(decoder.decode(body))
        except msgspec.ValidationError:  # too many: nothing else about the items is validated
            continue
        return items[: items.index(UNSET)] if items[-1] is UNSET else items
    raise too_many_events(MAX_REQUEST_EVENTS)


def too_many_events(limit: int) -> RefusedError:
    """413: a request has more than `limit` events."""
    detail = f"more than {limit} events in one request"
    return RefusedError(413, Refusal(detail, "body", "send fewer events in a request"))


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
