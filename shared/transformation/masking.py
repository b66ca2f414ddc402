"""Applies masks to the bytes of an event. Pure.

Only objects and arrays on the path to a masked value are decoded and encoded again; all other values are
copied as received bytes, so no number, escape or space in them changes. If a name occurs twice in an object
on the path, only the last value is kept, because the other one might contain the masked value too.
"""

import hmac
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from shared.contracts.masks import REDACTED, Action, Every, Mask, Steps, mask_steps
from shared.transformation.step_budget import StepBudget

Masked = tuple[Steps, Action]
"""The steps that are left of the path, and the action at its end."""

_STRICTEST: Final[Sequence[Action]] = ("drop", "redact", "hash")
"""Which action wins if several masks meet one value."""

_CONTAINERS: Final = (b"{", b"[")
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_elements: Final = msgspec.json.Decoder(list[Raw])
_string: Final = msgspec.json.Decoder(str)
_encode: Final = msgspec.json.Encoder().encode


def compiled(masks: Iterable[Mask]) -> tuple[Masked, ...]:
    """Compile masks for the functions below.

    Raises:
        MaskError: if a path is not valid.
    """
    return tuple((mask_steps(mask.path), mask.action) for mask in masks)


def below(name: str, masks: Iterable[Masked]) -> tuple[Masked, ...]:
    """The masks that remain after a first step to this name."""
    return tuple((steps[1:], action) for steps, action in masks if steps[0] == name)


def masked_text(text: str, masks: Sequence[Masked], key: bytes) -> str | None:
    """A masked text; None if it is dropped."""
    match _strictest(masks):
        case "drop":
            return None
        case "redact":
            return REDACTED
        case _:
            return _hash(text.encode(), key)


def masked_bytes(value: bytes, masks: Sequence[Masked], key: bytes) -> bytes | None:
    """Data that is not JSON, which can only be masked as a whole; None if it is dropped."""
    match _strictest(masks):
        case "drop":
            return None
        case "redact":
            return REDACTED.encode()
        case _:
            return _hash(value, key).encode()


def masked_json(value: bytes, masks: Sequence[Masked], key: bytes, budget: StepBudget) -> bytes | None:
    """A JSON text with masks applied; the same bytes if no mask matches, None if it is dropped.

    Args:
        value: valid JSON.
        masks: at least one; their paths start at this value.
        key: key for hashes; empty if no mask needs one.
        budget: a step is spent for each mask at each value that it may match.

    Raises:
        TooManyStepsError: if the budget is used up.
        msgspec.DecodeError: if the value is not JSON, or has a name that is not Unicode.
        RecursionError: if it is nested too deep.
    """
    budget.spend(len(masks))
    if _ends(masks):
        return _replaced(value, [mask for mask in masks if not mask[0]], key)
    match value.lstrip()[:1]:
        case b"{":
            return _object(value, masks, key, budget)
        case b"[":
            return _array(value, masks, key, budget)
        case _:
            return value


def _object(value: bytes, masks: Sequence[Masked], key: bytes, budget: StepBudget) -> bytes:
    members = _members.decode(value)
    named = members if any(isinstance(steps[0], Every) for steps, _ in masks) else _names(masks)
    met = [name for name in named if name in members]
    if not met:
        return value
    for name in met:
        inside = [(steps[1:], action) for steps, action in masks if steps[0] == name or _every(steps)]
        masked = masked_json(bytes(members[name]), inside, key, budget)
        if masked is None:
            del members[name]
        else:
            members[name] = Raw(masked)
    return _encode(members)


def _array(value: bytes, masks: Sequence[Masked], key: bytes, budget: StepBudget) -> bytes:
    any_element = list(_inside_element(None, masks))
    some = {steps[0] for steps, _ in masks if isinstance(steps[0], int)}
    ends = _ends(any_element)
    kept: list[Raw] = []
    changed = False
    for index, element in enumerate(_elements.decode(value)):
        received = bytes(element)
        inside = list(_inside_element(index, masks)) if index in some else any_element
        masked: bytes | None = received
        if inside and (ends or index in some or received[:1] in _CONTAINERS):
            masked = masked_json(received, inside, key, budget)
        changed |= masked is not received
        if masked is not None:
            kept.append(element if masked is received else Raw(masked))
    return _encode(kept) if changed else value


def _inside_element(index: int | None, masks: Iterable[Masked]) -> Iterable[Masked]:
    """The masks that remain inside the element with this index."""
    for steps, action in masks:
        if isinstance(steps[0], str):
            yield steps, action
        elif _every(steps) or steps[0] == index:
            yield steps[1:], action


def _ends(masks: Iterable[Masked]) -> bool:
    """Whether the path of some mask ends here."""
    return any(not steps for steps, _ in masks)


def _names(masks: Iterable[Masked]) -> Iterable[str]:
    return dict.fromkeys(steps[0] for steps, _ in masks if isinstance(steps[0], str))


def _every(steps: Steps) -> bool:
    return isinstance(steps[0], Every)


def _replaced(value: bytes, masks: Sequence[Masked], key: bytes) -> bytes | None:
    match _strictest(masks):
        case "drop":
            return None
        case "redact":
            return _encode(REDACTED)
        case _:
            return _encode(_hash(_content(value), key))


def _content(value: bytes) -> bytes:
    """The text to hash: for a string its characters, so that escapes do not matter; else the JSON text."""
    text = value.strip()
    return _string.decode(text).encode() if text.startswith(b'"') else text


def _hash(content: bytes, key: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()


def _strictest(masks: Sequence[Masked]) -> Action:
    return min((action for _, action in masks), key=_STRICTEST.index)
