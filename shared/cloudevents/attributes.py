"""Validates CloudEvents attributes and converts them to text."""

import re
from collections.abc import Mapping
from typing import Any

from shared.cloudevents.refusal import Refusal
from shared.contracts.envelope import SPEC_VERSION
from shared.contracts.limits import MAX_ATTRIBUTE_BYTES, MAX_ATTRIBUTE_NAME, MAX_ATTRIBUTES, MAX_ID_BYTES

_REQUIRED = ("id", "source", "type")
_NOT_ATTRIBUTES = frozenset(("data", "data_base64", "specversion"))
_TEXT_ONLY = frozenset(("id", "source", "type", "time", "subject", "datacontenttype", "dataschema"))
_NAME = re.compile(r"[a-z0-9]+")
_SHOWN = 256
_INTEGERS = (-(2**31), 2**31 - 1)
"""CloudEvents 1.0.2, section "Type System": Integer is a signed 32-bit number."""

_SHORT = MAX_ID_BYTES // 4  # characters: within every limit, whatever their UTF-8 takes

# Excluded from CloudEvents' String type: control characters and noncharacters. Attributes become headers.
_FORBIDDEN = re.compile(
    "[\x00-\x1f\x7f-\x9f\ufdd0-\ufdef"
    + "".join(chr(plane << 16 | low) for plane in range(17) for low in (0xFFFE, 0xFFFF))
    + "]"
)


def read_attributes(members: Mapping[str, Any]) -> dict[str, str] | Refusal:
    """The attributes among an event's members, as text; specversion is left out, as it is always the same."""
    if members.get("specversion") != SPEC_VERSION:
        return _wrong_version(members.get("specversion"))
    attributes: dict[str, str] = {}
    for name, value in members.items():
        if name in _TEXT_ONLY and type(value) is str and len(value) <= _SHORT and value.isprintable():
            attributes[name] = value  # the fast path: true of nearly all
            continue
        if name in _NOT_ATTRIBUTES or value is None:  # null means unset (JSON format, section 2.2)
            continue
        text = value if type(value) is str else _other_text(name, value)
        if isinstance(text, Refusal):
            return text
        wrong = _check(name, text)
        if wrong:
            return wrong
        attributes[name] = text
    return _check_all(attributes) or attributes


def _other_text(name: str, value: object) -> str | Refusal:
    """The canonical text of a CloudEvents Boolean or Integer."""
    if name in _TEXT_ONLY:
        return Refusal(f"{_shown(name)} is not a string", _shown(name), "put it in quotes")
    if isinstance(value, bool):
        return "true" if value else "false"
    if isinstance(value, int):
        return str(value) if _INTEGERS[0] <= value <= _INTEGERS[1] else _too_wide(name)
    fix = "use a string, an integer or a boolean; put anything else into data"
    return Refusal(f"attribute {_shown(name)} is not a string, an integer or a boolean", _shown(name), fix)


def _too_wide(name: str) -> Refusal:
    fix = "send it as a string, or put it into data"
    return Refusal(f"{_shown(name)} is outside CloudEvents' Integer (32 bits, signed)", _shown(name), fix)


def _check(name: str, text: str) -> Refusal | None:
    if name not in _TEXT_ONLY and (len(name) > MAX_ATTRIBUTE_NAME or not _NAME.fullmatch(name)):
        fix = f"use only a to z and 0 to 9, at most {MAX_ATTRIBUTE_NAME} of them; put anything else into data"
        return Refusal(f"{_shown(name)!r} is not a valid CloudEvents attribute name", _shown(name), fix)
    if not text.isprintable() and _FORBIDDEN.search(text):
        return Refusal(f"{name} contains a control character", name, "remove it, or put the text into data")
    limit = MAX_ID_BYTES if name == "id" else MAX_ATTRIBUTE_BYTES
    if 4 * len(text) > limit and len(text.encode()) > limit:
        return Refusal(f"{name} is longer than {limit} bytes", name, "shorten it, or put it into data")
    return None


def _check_all(attributes: Mapping[str, str]) -> Refusal | None:
    for name in _REQUIRED:
        if not attributes.get(name):
            return Refusal(f"{name} is missing", name, f"give the event a non-empty {name}")
    if len(attributes) > MAX_ATTRIBUTES:
        return Refusal(f"more than {MAX_ATTRIBUTES} attributes", "$", "put some of them into data")
    return None


def _wrong_version(given: object) -> Refusal:
    error = "specversion is missing" if given is None else f"specversion is not {SPEC_VERSION!r}"
    return Refusal(error, "specversion", f'set "specversion": "{SPEC_VERSION}"')


def _shown(name: str) -> str:
    """A name as a response shows it: shortened; `$` for an empty one."""
    return name[:_SHOWN] or "$"
