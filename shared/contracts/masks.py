"""Masks of a pipe: places in an event, and what is done to the values there before the event leaves.

A path starts at the event, `$`: `$.data.user.email`, `$.data.items[*].card`, `$.data['odd.name']`,
`$.data.*`, `$.data.points[0]`, `$.subject`. A name that meets an array means each of its elements, as in
event patterns: a list where one object was expected must not let a value through.
"""

import re
from typing import Annotated, Final, Literal

from msgspec import Meta, Struct

from shared.contracts.patterns import ATTRIBUTE, DATA

Action = Literal["redact", "drop", "hash"]

REDACTED: Final = "***"
"""The text that `redact` leaves in the place of a value."""

MAX_MASKS: Final = 100

_RECOGNISED_BY: Final = frozenset({"id", "source", "type", "time", "specversion", "datacontenttype"})
_STEP: Final = re.compile(
    r"""\.(?P<name>[^.\[\]'"*\s]+)"""
    r"""|(?P<every>\.\*|\[\*\])"""
    r"""|\[(?P<index>[0-9]{1,9})\]"""
    r"""|\['(?P<single>[^']*)'\]|\["(?P<double>[^"]*)"\]"""
)


class Mask(Struct, kw_only=True, frozen=True):
    """One place, and what is done there."""

    path: Annotated[str, Meta(max_length=1_000)]
    action: Action
    """redact: REDACTED instead of the value. drop: neither the value nor its name. hash: the HMAC-SHA256 in
    hex, keyed per tenant, so that equal values stay equal."""


class Every(Struct, frozen=True):
    """A step to all members of an object, or all elements of an array."""


Step = str | int | Every
"""A member's name, an element's index from 0, or all."""

Steps = tuple[Step, ...]


class MaskError(ValueError):
    """A path is not valid; the text gives the position and the fix."""


def mask_steps(path: str) -> Steps:
    """The steps below the event; the first is `data` or the name of an attribute.

    Raises:
        MaskError: gives the position and the fix.
    """
    if not path.startswith("$"):
        raise MaskError("starts with `$`, the event; for example $.data.user.email")
    steps: list[Step] = []
    at = 1
    while at < len(path):
        found = _STEP.match(path, at)
        if found is None:
            raise MaskError(f"cannot be read from character {at + 1} on ({path[at : at + 20]!r}); {_FIX}")
        steps.append(_step(found))
        at = found.end()
    _check(steps)
    return tuple(steps)


_FIX: Final = "a step is .name, ['any name'], [0], .* or [*]"


def _step(found: re.Match[str]) -> Step:
    match found.lastgroup:
        case "every":
            return Every()
        case "index":
            return int(found["index"])
        case group:
            return found[group or 0]


def _check(steps: list[Step]) -> None:
    """Refuse the event itself, and attributes that identify it."""
    first = steps[0] if steps else None
    if not isinstance(first, str):
        raise MaskError("names no part of the event; for example $.data.user.email, or $.data for all of it")
    if first in _RECOGNISED_BY:
        raise MaskError(f"`{first}` cannot be masked: hifi and the destination recognise the event by it")
    if first != DATA and not ATTRIBUTE.fullmatch(first):
        raise MaskError(
            f"`{first}` is no attribute: these are lower-case letters and digits; data of any kind is $.data"
        )
    if first != DATA and len(steps) > 1:
        raise MaskError(f"`{first}` is an attribute, a text without members; event fields are under $.data")
