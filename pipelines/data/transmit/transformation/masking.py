"""Masks applied to the bytes of an event. Pure.

Only the objects and arrays on the way to a masked value are taken apart and put together again; every value
beside the way is copied as the bytes that were received, so no number, escape or space in it changes. What is
put together holds what was parsed and nothing else: of a name that occurs twice in an object on the way the
last counts, and the other, in which the same place might be, is gone.
"""

import hmac
from collections.abc import Iterable, Sequence
from typing import Final

import msgspec
from msgspec import Raw

from pipelines.data.transmit.transformation.step_budget import StepBudget
from shared.contracts.masks import REDACTED, Action, Every, Mask, Steps, mask_steps

Masked = tuple[Steps, Action]
"""What is left of the way, and what is done at its end."""

_STRICTEST: Final[Sequence[Action]] = ("drop", "redact", "hash")
"""Where several masks meet one value."""

_CONTAINERS: Final = (b"{", b"[")
_members: Final = msgspec.json.Decoder(dict[str, Raw])
_elements: Final = msgspec.json.Decoder(list[Raw])
_string: Final = msgspec.json.Decoder(str)
_encode: Final = msgspec.json.Encoder().encode


def compiled(masks: Iterable[Mask]) -> tuple[Masked, ...]:
    """Masks as the functions here take them.

    Raises:
        MaskError: if a path names no place.
    """
    return tuple((mask_steps(mask.path), mask.action) for mask in masks)


def below(name: str, masks: Iterable[Masked]) -> tuple[Masked, ...]:
    """What is left of masks after a first step to this name."""
    return tuple((steps[1:], action) for steps, action in masks if steps[0] == name)


def masked_text(text: str, masks: Sequence[Masked], key: bytes) -> str | None:
    """A text that masks meet; None if it is dropped."""
    match _strictest(masks):
        case "drop":
            return None
        case "redact":
            return REDACTED
        case _:
            return _hash(text.encode(), key)


def masked_bytes(value: bytes, masks: Sequence[Masked], key: bytes) -> bytes | None:
    """Data that is no JSON, which can be masked as a whole only; None if it is dropped."""
    match _strictest(masks):
        case "drop":
            return None
        case "redact":
            return REDACTED.encode()
        case _:
            return _hash(value, key).encode()


def masked_json(value: bytes, masks: Sequence[Masked], key: bytes, account: StepBudget) -> bytes | None:
    """A JSON text with these masks applied; the same bytes where none meets anything, None if it is dropped.

    Args:
        value: valid JSON.
        masks: at least one; their ways start at this value.
        key: for hashes; empty where no mask needs one.
        account: one step is paid for each mask at each value that it may meet.

    Raises:
        TooManyStepsError: if the account does not suffice.
        msgspec.DecodeError: if it is no JSON after all, or holds a name that is no Unicode.
        RecursionError: if it is nested too deep.
    """
    account.pay(len(masks))
    if _ends(masks):
        return _replaced(value, [mask for mask in masks if not mask[0]], key)
    match value.lstrip()[:1]:
        case b"{":
            return _object(value, masks, key, account)
        case b"[":
            return _array(value, masks, key, account)
        case _:
            return value


def _object(value: bytes, masks: Sequence[Masked], key: bytes, account: StepBudget) -> bytes:
    members = _members.decode(value)
    named = members if any(isinstance(steps[0], Every) for steps, _ in masks) else _names(masks)
    met = [name for name in named if name in members]
    if not met:
        return value
    for name in met:
        inside = [(steps[1:], action) for steps, action in masks if steps[0] == name or _every(steps)]
        masked = masked_json(bytes(members[name]), inside, key, account)
        if masked is None:
            del members[name]
        else:
            members[name] = Raw(masked)
    return _encode(members)


def _array(value: bytes, masks: Sequence[Masked], key: bytes, account: StepBudget) -> bytes:
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
            masked = masked_json(received, inside, key, account)
        changed |= masked is not received
        if masked is not None:
            kept.append(element if masked is received else Raw(masked))
    return _encode(kept) if changed else value


def _inside_element(index: int | None, masks: Iterable[Masked]) -> Iterable[Masked]:
    """What is left of masks inside an element: the one with this index, or any that no mask names."""
    for steps, action in masks:
        if isinstance(steps[0], str):
            yield steps, action
        elif _every(steps) or steps[0] == index:
            yield steps[1:], action


def _ends(masks: Iterable[Masked]) -> bool:
    """Whether the way of some mask is at its end."""
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
    """What is hashed: the characters of a string, so that its escapes do not matter; else the text itself."""
    text = value.strip()
    return _string.decode(text).encode() if text.startswith(b'"') else text


def _hash(content: bytes, key: bytes) -> str:
    return hmac.digest(key, content, "sha256").hex()


def _strictest(masks: Sequence[Masked]) -> Action:
    return min((action for _, action in masks), key=_STRICTEST.index)
