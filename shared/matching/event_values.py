"""The values of an event that patterns compare, as tagged texts (see `shared.contracts.matchers`). Pure.

Data is read as Spark's variant type reads it, which route matches on: of a name that occurs twice in an
object the last counts, what follows the object is ignored, and a number in decimal digits is exact up to 38
of them, others are doubles.
"""

import json
from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, NamedTuple

from shared.contracts.matchers import STRING_TAG
from shared.contracts.matching_steps import copying, looking_up
from shared.contracts.patterns import DATA, DataPath

_BLANKS: Final = " \t\r\n"
_DIGITS: Final = 38
_LONG: Final = 2**63


class _Number(str):
    """A number's text: in plain decimal digits, or with an exponent or a point if it is a double."""

    __slots__ = ()


class _Objects(NamedTuple):
    """The objects at a path, those of arrays one by one."""

    found: Sequence[Mapping[str, Any]]
    looking_up: int
    """The steps of looking up one name in all of them."""


class _Values(NamedTuple):
    tagged: Sequence[str]
    characters: int
    """Of the texts among them, tags included."""


class EventValues:
    """The attributes and data of one event, looked up by the paths of patterns."""

    def __init__(self, attributes: Mapping[str, str], data: bytes | None) -> None:
        """`attributes` are all that the event has, `specversion` included."""
        self._attributes = attributes
        self._data_bytes = len(data or b"")
        self._objects: dict[DataPath, _Objects] = {(): _objects([_parsed(data)])}
        self._values: dict[tuple[str, ...], _Values] = {}

    def at(self, path: tuple[str, ...]) -> Sequence[str]:
        """The tagged texts at a condition's path: none, one, or several where it crosses arrays."""
        return self._at(path).tagged

    def characters(self, path: tuple[str, ...]) -> int:
        """The number of characters of the texts there, tags included."""
        return self._at(path).characters

    def reading(self, paths: Collection[DataPath]) -> Iterator[int]:
        """The steps that route takes to these paths into the data (see `shared.contracts.matching_steps`).

        They are given part by part, and names are only looked up as far as these are taken.
        """
        copied = {0}  # levels; the data's own objects are not copied
        if self._objects_at(()).found:
            for *way, _ in _looked_up(paths):
                objects = self._objects_at(tuple(way))
                if objects.found and len(way) not in copied:
                    copied.add(len(way))
                    yield copying(self._data_bytes)
                yield objects.looking_up

    def _at(self, path: tuple[str, ...]) -> _Values:
        """Each path is looked up once, however many alternatives have a condition on it."""
        if path not in self._values:
            found = self._look_up(path)
            characters = sum(len(each) for each in found if each.startswith(STRING_TAG))
            self._values[path] = _Values(found, characters)
        return self._values[path]

    def _look_up(self, path: tuple[str, ...]) -> Sequence[str]:
        """Scalars and arrays' elements; a path may cross arrays of objects, after its first name."""
        if path[0] == DATA:
            return [_tagged(leaf) for leaf in self._elements(path[1:]) if not isinstance(leaf, dict | list)]
        text = self._attributes.get(path[0])
        return [] if text is None else [STRING_TAG + text]

    def _elements(self, path: DataPath) -> list[Any]:
        """All that is at a path, the elements of arrays one by one."""
        *way, name = path
        objects = self._objects_at(tuple(way)).found
        return [element for each in objects if name in each for element in _elements(each[name])]

    def _objects_at(self, path: DataPath) -> _Objects:
        if path not in self._objects:
            self._objects[path] = _objects(self._elements(path))
        return self._objects[path]


def _looked_up(paths: Collection[DataPath]) -> list[DataPath]:
    """Each name that is looked up, with the way to it, shorter ones first: those of fields, and once however
    many fields have them in common, those of objects on the way."""
    ways = set[DataPath]()
    for path in paths:
        way = path[:-1]
        while way and way not in ways:
            ways.add(way)
            way = way[:-1]
    return sorted([*paths, *ways], key=len)


def _objects(elements: Sequence[Any]) -> _Objects:
    found = [each for each in elements if isinstance(each, dict)]
    return _Objects(found, looking_up(map(len, found)))


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


def _parsed(data: bytes | None) -> Any:
    """The data's JSON; None if it is none."""
    if data is None:
        return None
    try:
        found, _ = _decoder.raw_decode(data.decode(errors="replace").lstrip(_BLANKS))
    except (ValueError, RecursionError):
        return None
    return found


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
