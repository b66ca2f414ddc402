"""The values of an event that patterns compare, as tagged texts (see `shared.contracts.matchers`). Pure.

Data is read as Spark's variant type reads it, which route matches on: of a name that occurs twice in an
object the last counts, what follows the object is ignored, and a number in decimal digits is exact up to 38
of them, others are doubles.
"""

import json
from collections.abc import Mapping, Sequence
from typing import Any, Final, NamedTuple

from shared.contracts.matchers import STRING_TAG
from shared.contracts.matching_steps import PASSED, copying
from shared.contracts.patterns import DATA

_BLANKS: Final = " \t\r\n"
_DIGITS: Final = 38
_LONG: Final = 2**63


class _Number(str):
    """A number's text: in plain decimal digits, or with an exponent or a point if it is a double."""

    __slots__ = ()


class EventValues:
    """The attributes and data of one event, looked up by the paths of patterns."""

    def __init__(self, attributes: Mapping[str, str], data: bytes | None) -> None:
        """`attributes` are all that the event has, `specversion` included."""
        self._attributes = attributes
        self._members = _members(data)
        self._data_bytes = len(data or b"")
        self._found: dict[tuple[str, ...], Sequence[str]] = {}

    def at(self, path: tuple[str, ...]) -> Sequence[str]:
        """The tagged texts at a condition's path: none, one, or several where it crosses arrays.

        Each path is looked up once, however many alternatives have a condition on it.
        """
        if path not in self._found:
            self._found[path] = self._look_up(path)
        return self._found[path]

    def reading(self, path: tuple[str, ...]) -> int:
        """The steps that route takes to a path into the data (see `shared.contracts.matching_steps`)."""
        return copying(len(path) - 1, self._data_bytes) + PASSED * _walk(self._members, path[1:]).passed

    def _look_up(self, path: tuple[str, ...]) -> Sequence[str]:
        if path[0] == DATA:
            return _leaves(self._members, path[1:])
        text = self._attributes.get(path[0])
        return [] if text is None else [STRING_TAG + text]


def _leaves(members: Mapping[str, Any], path: tuple[str, ...]) -> list[str]:
    """Scalars and arrays' elements at a path; it may cross arrays of objects, after its first step."""
    return [_tagged(leaf) for leaf in _walk(members, path).elements if not isinstance(leaf, dict | list)]


class _Walk(NamedTuple):
    elements: Sequence[Any]
    """At the end of a path, those of arrays one by one."""

    passed: int
    """Members and elements on the way, the end included."""


def _walk(members: Mapping[str, Any], path: tuple[str, ...]) -> _Walk:
    objects, elements, passed = [members], list[Any](), 0
    for name in path:
        passed += sum(map(len, objects))
        elements = [element for each in objects if name in each for element in _elements(each[name])]
        passed += len(elements)
        objects = [each for each in elements if isinstance(each, dict)]
    return _Walk(elements, passed)


def _elements(node: Any) -> list[Any]:
    return node if isinstance(node, list) else [node]


def _tagged(leaf: object) -> str:
    match leaf:
        case _Number():
            return str(leaf)
        case str():
            return STRING_TAG + leaf
        case None:
            return "null"
    return "true" if leaf else "false"


def _members(data: bytes | None) -> Mapping[str, Any]:
    """The members of the data's object; none of anything else."""
    if data is None:
        return {}
    try:
        found, _ = _decoder.raw_decode(data.decode(errors="replace").lstrip(_BLANKS))
    except (ValueError, RecursionError):
        return {}
    return found if isinstance(found, dict) else {}


def _integer(text: str) -> _Number:
    if len(text) <= _DIGITS + 1:
        value = int(text)
        if -_LONG <= value < _LONG:
            return _Number(value)
    return _fraction(text)


def _fraction(text: str) -> _Number:
    """Exact if written without an exponent and short; else a double, known by its point or exponent."""
    if "e" not in text and "E" not in text:
        whole, _, places = text.lstrip("-").partition(".")
        digits = (whole + places).lstrip("0")
        if len(digits) <= _DIGITS and len(places) <= _DIGITS:
            return _Number(_plain(text, places, digits))
    return _Number(repr(float(text)).upper())


def _plain(text: str, places: str, digits: str) -> str:
    if not digits:
        return "0"
    return text.rstrip("0").rstrip(".") if places else text


def _constant(name: str) -> None:
    raise ValueError(f"{name} is not JSON")


_decoder: Final = json.JSONDecoder(parse_int=_integer, parse_float=_fraction, parse_constant=_constant)
