"""The cost of an event in route, in steps of about ten nanoseconds. Pure.

`tenant_limits` bounds the patterns, not the event: one field may hold many values or a long text, and the way
to it may pass many members. An event above MATCHING_STEPS, of either kind, is matched with no pipe: route
quarantines it, and the API says so of an event that it tries on a pipe.

Reading: for each path into the data, PASSED for each member and element on the way to the values, and the
copies that Spark makes of the data at each of the path's names. Comparing: for each condition of the
alternatives that the event's attributes and id leave open, its steps for each value, and for each
character of texts.
"""

import math
from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shared.contracts.matchers import Matcher

COMPARED: Final = 100
"""A value and an operand."""

MATCHING_COMPARISONS: Final = 1_000_000
MATCHING_STEPS: Final = MATCHING_COMPARISONS * COMPARED
"""Of either kind, of one event with all pipes of its source: about a second."""

PASSED: Final = 10
"""A member or an element on the way to a field."""

COPIED_BYTES: Final = 16
"""Bytes of data that are copied in one step."""

COMPILED_A_STEP: Final = 2
"""Characters of a wildcard, which Spark compiles at each comparison."""

PLAIN_A_COMPARISON: Final = 10
"""Values of a list in which an event's value is looked up, in the time of one comparison."""

TOO_COSTLY: Final = (
    f"takes more than {MATCHING_COMPARISONS:,} comparisons with the patterns of the source's pipes: too many"
    " values or too long texts in the fields that they look at, or too many members on the way there"
)
"""The reason in `quarantine`."""

_READING: Final = frozenset({"wildcard", "equals_ignore_case", "prefix_ignore_case", "suffix_ignore_case"})
"""Operators that read all of a text, for each operand."""

_MOST_PASSED_A_BYTE: Final = 1
_MOST_VALUES_A_BYTE: Final = 0.5
_MOST_CHARACTERS_A_BYTE: Final = 1


class Comparing(NamedTuple):
    """Steps of a condition."""

    per_value: int
    per_character: int


def comparing(matchers: Iterable[Matcher]) -> Comparing:
    """The steps of a condition with these matchers, for each value at its path."""
    found = list(matchers)
    return Comparing(sum(map(_per_value, found)), sum(map(_per_character, found)))


def copying(names: int, data_bytes: int) -> int:
    """The steps that copying takes on the way to a path of so many names in data of so many bytes."""
    return names * data_bytes // COPIED_BYTES


def steps_per_byte(paths: Iterable[Sequence[str]], conditions: Iterable[Comparing]) -> int:
    """More steps than an event may take for each of its bytes: where that is too little, none are counted."""
    reading = sum(PASSED * _MOST_PASSED_A_BYTE + len(path) / COPIED_BYTES for path in paths)
    compared = sum(
        each.per_value * _MOST_VALUES_A_BYTE + each.per_character * _MOST_CHARACTERS_A_BYTE
        for each in conditions
    )
    return math.ceil(max(reading, compared))


def _per_value(matcher: Matcher) -> int:
    match matcher.op:
        case "absent" | "present":
            return 0
        case "between":
            return COMPARED
        case "equals":
            listed = len(matcher.values) if matcher.negate else 1
            return COMPARED * -(-listed // PLAIN_A_COMPARISON)
        case "wildcard":
            return sum(COMPARED + len(expression) // COMPILED_A_STEP for expression in matcher.values)
    return COMPARED * len(matcher.values)


def _per_character(matcher: Matcher) -> int:
    return len(matcher.values) if matcher.op in _READING else 0
