"""Event patterns, the language of EventBridge rules, compiled to rows that route evaluates.

A pattern is a tree over an event's attributes (top level) and `data`; its leaves are lists of matchers.
Compiled it is a disjunction of conjunctions of `Condition`, plain data without code: a new pattern
restarts nothing.

Numbers are equal by value (5, 5.0, 5e0); an array matches if any of its elements does, for `anything-but`
too; `exists` looks for leaves, as AWS says, so an object or an empty array does not exist.

Two points differ from AWS's own matcher, as docs/documents.md says. Each condition descends arrays of objects
by itself, so that fields of different elements combine. An array within an array is not looked into, where
AWS flattens it.
Language: https://docs.aws.amazon.com/eventbridge/latest/userguide/eb-create-pattern-operators.html
AWS's matcher: https://github.com/aws/event-ruler
"""

import re
from collections.abc import Iterator
from itertools import product
from typing import Any, Final, NamedTuple

from msgspec import Struct

from shared.contracts.comparing_steps import PLAIN_A_COMPARISON
from shared.contracts.limits import MAX_ATTRIBUTE_NAME, MAX_DEPTH
from shared.contracts.matchers import Matcher, PatternError, compile_matchers

__all__ = ["Alternatives", "Condition", "Matcher", "PatternError", "compile_pattern"]

DATA: Final = "data"
"""First step of every path into the event's data; any other path is one attribute's name."""

DataPath = tuple[str, ...]
"""Names on the way into the event's data, without DATA."""

MAX_ALTERNATIVES: Final = 256
"""Conjunctions a pattern may come to; each `$or` multiplies them."""

MAX_CONDITIONS: Final = 10_000
"""Conditions of all conjunctions together: each repeats those of the fields beside an `$or`."""

OBJECTS_A_COMPARISON: Final = 10
"""Objects on the way to fields, in the time of one comparison."""

ATTRIBUTE: Final = re.compile(rf"[a-z0-9]{{1,{MAX_ATTRIBUTE_NAME}}}")


class Condition(Struct, frozen=True, kw_only=True):
    """The values at `path` pass one of `matchers`."""

    path: tuple[str, ...]
    matchers: tuple[Matcher, ...]
    written: list[Any]
    """The matchers as the pattern has them, to be shown."""


Alternatives = tuple[tuple[Condition, ...], ...]
"""Any of: all of."""


def compile_pattern(pattern: dict[str, Any]) -> Alternatives:
    """Rows for a pattern; an empty pattern gives one empty conjunction, which every event meets.

    Raises:
        PatternError: gives the position and the fix.
    """
    if not isinstance(pattern, dict):
        raise PatternError("", "a pattern is an object of fields")
    return _object(pattern, (), "", 0)


def comparisons(pattern: object) -> int:
    """How often an event may have to be compared: the operands of all matchers of all alternatives.

    Of a pattern that does not compile it is an estimate. Ten plain values of a leaf are one, as route looks
    them up together. So are ten objects: each is looked for, too, whether an event has it or not.
    """
    found = _counted(pattern)
    return found.comparisons + found.objects // OBJECTS_A_COMPARISON


class _Counted(NamedTuple):
    alternatives: int
    comparisons: int
    objects: int = 0
    """On the way to fields."""


def _counted(pattern: object) -> _Counted:
    if isinstance(pattern, list):
        plain = sum(not isinstance(each, dict) for each in pattern)
        listed = -(-plain // PLAIN_A_COMPARISON)
        return _Counted(1, listed + sum(_operands(each) for each in pattern if isinstance(each, dict)))
    found = _Counted(1, 0)
    for name, value in pattern.items() if isinstance(pattern, dict) else ():
        parts = (
            [_counted(each) for each in value]
            if name == "$or" and isinstance(value, list)
            else [_counted(value)]
        )
        ways, more = sum(each.alternatives for each in parts), sum(each.comparisons for each in parts)
        objects = isinstance(value, dict) + sum(each.objects for each in parts)
        found = _Counted(
            found.alternatives * ways,
            found.comparisons * ways + more * found.alternatives,
            found.objects + objects,
        )
    return found


def _operands(matcher: object) -> int:
    match matcher:
        case dict():
            return sum(1 if name == "numeric" else _operands(each) for name, each in matcher.items())
        case list():
            return len(matcher)
    return 1


def _object(pattern: dict[str, Any], path: tuple[str, ...], at: str, depth: int) -> Alternatives:
    """All fields of an object: the product of their alternatives."""
    if depth > MAX_DEPTH:
        raise PatternError(at, f"nested deeper than {MAX_DEPTH}; no event is")
    fields = [tuple(_field(name, value, path, f"{at}.{name}", depth + 1)) for name, value in pattern.items()]
    count = 1
    for field in fields:
        count *= len(field)
        if count > MAX_ALTERNATIVES:
            raise PatternError(at, f"comes to more than {MAX_ALTERNATIVES} combinations; use several pipes")
    if sum(count // len(field) * sum(map(len, field)) for field in fields) > MAX_CONDITIONS:
        raise PatternError(at, f"comes to more than {MAX_CONDITIONS:,} conditions; use several pipes")
    return tuple(tuple(c for branch in chosen for c in branch) for chosen in product(*fields))


def _field(
    name: object, value: object, path: tuple[str, ...], at: str, depth: int
) -> Iterator[tuple[Condition, ...]]:
    if not isinstance(name, str):
        raise PatternError(at, f"a field's name is text; quote {name!r}")
    if name == "$or":
        yield from _or(value, path, at, depth)
        return
    if not path and name != DATA:
        _check_attribute(name, value, at)
    match value:
        case list() if path or name != DATA:
            yield (Condition(path=(*path, name), matchers=compile_matchers(value, at), written=value),)
        case dict() if value:
            yield from _object(value, (*path, name), at, depth)
        case list():
            raise PatternError(at, "name a member: {data: {member: [...]}}")
        case dict():
            raise PatternError(at, "an empty object matches nothing; leave the field out, or use exists")
        case _:
            raise PatternError(at, f"takes a list of matchers or an object; write [{value!r}]")


def _or(value: object, path: tuple[str, ...], at: str, depth: int) -> Iterator[tuple[Condition, ...]]:
    if not isinstance(value, list) or not value:
        raise PatternError(at, "takes a list of patterns")
    for i, branch in enumerate(value):
        if not isinstance(branch, dict) or not branch:
            raise PatternError(f"{at}[{i}]", "each branch is an object of fields, not empty")
        yield from _object(branch, path, f"{at}[{i}]", depth)


def _check_attribute(name: str, value: object, at: str) -> None:
    """Attributes are flat text with CloudEvents' names."""
    if not ATTRIBUTE.fullmatch(name):
        raise PatternError(at, "an attribute is lower-case letters and digits; event fields are under data")
    if isinstance(value, dict):
        raise PatternError(at, "an attribute is text and has no members; fields of the event are under data")
