"""The cost of comparing values with a condition, in steps of about ten nanoseconds. Pure."""

from collections.abc import Iterable, Sequence
from typing import Final, NamedTuple

from shared.contracts.matchers import Matcher, as_double

COMPARED: Final = 100
"""A value and an operand."""

LOOKED_UP: Final = 10
"""A value and a list of texts."""

PLAIN_A_COMPARISON: Final = 10
"""Values of a list in which an event's value is looked up, in the time of one comparison."""

BLOCK_BITS: Final = 10
_BLOCK: Final = 1 << BLOCK_BITS

_HASHED: Final = 32
"""A block of texts that are looked up in a list."""

_COMPILED_A_STEP: Final = 2
"""Characters of a wildcard, which Spark compiles at each comparison."""

_REPEATED_A_STEP: Final = 8
"""Comparisons of one character with a wildcard whose parts repeat their beginning."""


class Comparing(NamedTuple):
    """Steps of a condition."""

    per_value: int
    per_block: int
    """For 1,024 characters of the texts at its path, tags included, all of them together."""

    def of(self, values: int, characters: int) -> int:
        """The steps with so many values, whose texts have so many characters."""
        return self.per_value * values + (self.per_block * characters >> BLOCK_BITS)


def comparing(matchers: Iterable[Matcher]) -> Comparing:
    """The steps of a condition with these matchers."""
    found = list(matchers)
    return Comparing(sum(map(_per_value, found)), sum(map(_per_block, found)))


def _per_value(matcher: Matcher) -> int:
    match matcher.op:
        case "absent" | "present":
            return 0
        case "equals":
            return _listed(matcher)
        case "wildcard":
            return sum(COMPARED + len(expression) // _COMPILED_A_STEP for expression in matcher.values)
        case "equals_ignore_case" | "prefix_ignore_case" | "suffix_ignore_case":
            return sum(COMPARED + _lowered(operand) for operand in matcher.values)
    return COMPARED * max(1, len(matcher.values))  # `between` lists none


def _listed(matcher: Matcher) -> int:
    """All values of an event are looked up together; for `anything-but` each is held against the list."""
    if matcher.negate:
        return COMPARED * -(-len(matcher.values) // PLAIN_A_COMPARISON)
    return LOOKED_UP if all(as_double(each) is None for each in matcher.values) else COMPARED


def _lowered(operand: str) -> int:
    """Spark lowers the operand for each value; of one that is not ASCII it makes a text of Java and back."""
    return len(operand) if operand.isascii() else 2 * len(operand)


def _per_block(matcher: Matcher) -> int:
    match matcher.op:
        case "equals":
            return 0 if matcher.negate else _HASHED
        case "wildcard":
            return _BLOCK * sum(1 + _repeats(parts) // _REPEATED_A_STEP for parts in matcher.parts)
        case "equals_ignore_case" | "prefix_ignore_case" | "suffix_ignore_case":
            return _BLOCK * len(matcher.values)
    return 0


def _repeats(parts: Sequence[str]) -> int:
    """How often a search for the text after one of a wildcard's stars may read a character, at most.

    It compares from each place in a text on; at one character as many comparisons may still be under way as
    the part has places that begin like it: `aaab` has three. Each place is searched for one part alone.
    """
    return max((part.count(part[0]) for part in parts[1:] if part), default=0)
