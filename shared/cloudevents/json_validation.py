"""Strict JSON validation: what RFC 8259 allows and every later node can read."""

import json
import math
import re
from collections.abc import Iterable
from itertools import accumulate, chain
from operator import sub
from typing import Any, Final, NoReturn

import msgspec

from shared.cloudevents.refusal import Refusal
from shared.contracts.limits import MAX_DEPTH, MAX_NAME_BYTES, MAX_NUMBER_CHARACTERS

_decoder = msgspec.json.Decoder()
_STRING = re.compile(rb'"[^"\\]*(?:\\.[^"\\]*)*"', re.DOTALL)
_NUMERIC = bytes(ord("0") if chr(byte) in "-+.0123456789eE" else ord(" ") for byte in range(256))
_LONG_NUMBER = b"0" * (MAX_NUMBER_CHARACTERS + 1)
_DOUBLE_DIGITS: Final = 309
"""Digits of the largest double: shorter integers are in its range."""

_LARGE_NUMBER = b"0" * _DOUBLE_DIGITS
_INTEGER = re.compile(rb"(?<![\d.eE+-])-?(\d{%d,})(?![\d.eE])" % _DOUBLE_DIGITS)
_NAME = re.compile(rb'"([^"\\]*(?:\\.[^"\\]*)*)"(?=[ \t\r\n]*(:?))', re.DOTALL)
_BRACKETS = bytes.maketrans(b"{}", b"[]")
_NOT_BRACKETS = bytes(sorted(set(range(256)) - set(b"[]{}")))
_OPENING = re.compile(rb"\[+")
_CLOSING = re.compile(rb"\]+")
_SHALLOW: Final = 4
"""Levels of brackets that are removed one by one, which is faster than to count them: most events have no
more."""

_BOM = b"\xef\xbb\xbf"

_OUT_OF_RANGE = Refusal("a number is out of a double's range", "$", "send it as a string")

PARSE_ERRORS = (msgspec.MsgspecError, UnicodeDecodeError, RecursionError)
"""The errors that `parse` raises."""


def parse(raw: bytes) -> Any:
    """The value of a JSON text; every string, number and escape in it was validated.

    msgspec.Raw alone would accept invalid UTF-8 and numbers out of a double's range.
    """
    return _decoder.decode(raw)


def too_deep(raw: bytes) -> bool:
    """Whether a valid JSON text nests deeper than MAX_DEPTH. Most texts have fewer brackets than that."""
    if raw.count(b"[") + raw.count(b"{") <= MAX_DEPTH:
        return False
    brackets = _STRING.sub(b"", raw).translate(_BRACKETS, _NOT_BRACKETS)
    for _ in range(_SHALLOW):
        brackets = brackets.replace(b"[]", b"")  # the innermost pairs: one level less everywhere
        if not brackets:
            return False
    return _SHALLOW + _depth(brackets) > MAX_DEPTH


def _depth(brackets: bytes) -> int:
    """How deep balanced brackets nest, in one pass: each run of opening ones ends at a peak."""
    opened = map(len, _OPENING.findall(brackets))
    closed_before = chain((0,), map(len, _CLOSING.findall(brackets)))
    levels: Iterable[int] = accumulate(map(sub, opened, closed_before))
    return max(levels)


def check_limits(raw: bytes) -> Refusal | None:
    """The refusal of valid JSON that later nodes cannot read: too deep, or too long a number or name."""
    return nested_too_deep() if too_deep(raw) else _too_long(raw)


def _too_long(raw: bytes) -> Refusal | None:
    if len(raw) < _DOUBLE_DIGITS:
        return None
    if _LARGE_NUMBER in raw.translate(_NUMERIC) and (refusal := _too_large(_STRING.sub(b'""', raw))):
        return refusal
    if len(raw) > MAX_NAME_BYTES and any(
        found[2] and len(found[1]) > MAX_NAME_BYTES for found in _NAME.finditer(raw)
    ):
        return Refusal(f"a name of more than {MAX_NAME_BYTES} bytes", "$", "send it as a value")
    return None


def _too_large(raw: bytes) -> Refusal | None:
    """The refusal of a number that is too long or large, in a text without its strings.

    First whether too many characters in a row are those of numbers: a regular expression would look at each
    run again from each of its characters.
    """
    numeric = raw.translate(_NUMERIC)
    if _LONG_NUMBER in numeric:
        return Refusal(
            f"a number of more than {MAX_NUMBER_CHARACTERS} characters", "$", "send it as a string"
        )
    if _LARGE_NUMBER in numeric and any(math.isinf(float(found)) for found in _INTEGER.findall(raw)):
        return _OUT_OF_RANGE
    return None


def nested_too_deep() -> Refusal:
    """The refusal of a text that is nested too deep."""
    return Refusal(f"nested deeper than {MAX_DEPTH} levels", "$", "flatten the event")


def explain(raw: bytes, error: Exception) -> Refusal:
    """Why `parse` failed, in words that help the sender."""
    if isinstance(error, RecursionError):
        return nested_too_deep()
    if not raw.strip():
        return Refusal("the event is empty", "$", "send a JSON object")
    if raw.startswith(_BOM):
        return Refusal("the event starts with a byte order mark", "$", "send UTF-8 without one")
    if raw.startswith((b"\xff\xfe", b"\xfe\xff")) or b"\0" in raw[:4]:
        return Refusal("the event is UTF-16 or UTF-32", "$", "send UTF-8")
    try:
        text = raw.decode()
    except UnicodeDecodeError as undecodable:
        return Refusal(f"invalid UTF-8 at byte {undecodable.start}", "$", "send UTF-8")
    return _explain_json(text, error)


def _explain_json(text: str, error: Exception) -> Refusal:
    """Tell bad values from bad syntax: Python's parser accepts the values that msgspec refuses."""
    try:
        json.loads(text, parse_constant=_refuse_constant)
    except json.JSONDecodeError as found:
        return _explain_syntax(text, found)
    except RecursionError:
        return nested_too_deep()
    except _ConstantError as constant:
        return Refusal(f"{constant} is not a JSON number", "$", "send null, or a string")
    except ValueError:
        return _OUT_OF_RANGE  # Python's limit on an integer's digits
    return _explain_value(str(error))


def _explain_syntax(text: str, found: json.JSONDecodeError) -> Refusal:
    where = f"{found.msg} at character {found.pos}"
    if found.msg.startswith("Extra data"):
        return Refusal(f"data follows the end of the event at character {found.pos}", "$", "remove it")
    if found.pos >= len(text.rstrip()) or found.msg.startswith("Unterminated"):
        return Refusal(f"the event is truncated: {where}", "$", "send the event to its end")
    return Refusal(f"the event is not JSON: {where}", "$", "send valid JSON (RFC 8259)")


def _explain_value(message: str) -> Refusal:
    if "surrogate" in message or "truncated" in message:
        return Refusal("a string contains half of a surrogate pair", "$", "escape both halves, or neither")
    if "out of range" in message:
        return _OUT_OF_RANGE
    return Refusal(f"the event is not JSON: {message}", "$", "send valid JSON (RFC 8259)")


class _ConstantError(Exception):
    """NaN, Infinity or -Infinity."""


def _refuse_constant(name: str) -> NoReturn:
    raise _ConstantError(name)
