"""Evaluates compiled patterns, as `pipelines/data/route/matching.py` does with Columns. Pure."""

import re
from collections.abc import Callable, Sequence
from functools import lru_cache
from typing import Final

from msgspec import Struct

from shared.contracts.matchers import STRING_TAG, Matcher
from shared.contracts.patterns import Alternatives, Condition
from shared.matching.event_values import EventValues

Spend = Callable[[int], None]
"""Gets the amount of work that comes next, in characters compared; may raise to refuse it."""

_VALUE_CHARACTERS: Final = 16
"""The fixed cost of a look at one value, in characters compared."""

_Test = Callable[[str], bool]


class Unmet(Struct, frozen=True):
    """A condition that an event does not meet."""

    condition: Condition
    found: Sequence[str]
    """The tagged texts at the condition's path."""


def first_unmet(alternatives: Alternatives, event: EventValues, spend: Spend) -> Unmet | None:
    """None if the event matches; else the first unmet condition of the alternative that it meets most of."""
    furthest, reached = None, -1
    for conditions in alternatives:
        for at, condition in enumerate(conditions):
            found = event.at(condition.path)
            if not any(_passes(matcher, found, spend) for matcher in condition.matchers):
                if at > reached:
                    furthest, reached = Unmet(condition, found), at
                break
        else:
            return None
    return furthest


def _passes(matcher: Matcher, values: Sequence[str], spend: Spend) -> bool:
    if matcher.op == "absent":
        return not values
    if matcher.op == "present":
        return bool(values)
    spend(_work(matcher, values))
    test = _TESTS[matcher.op](matcher)
    return any(test(value) != matcher.negate for value in values)


def _work(matcher: Matcher, values: Sequence[str]) -> int:
    characters = _VALUE_CHARACTERS * len(values) + sum(map(len, values))
    return len(matcher.values) + characters * (1 if matcher.op in _ONE_LOOK else len(matcher.values))


def _equals(matcher: Matcher) -> _Test:
    texts = frozenset(matcher.values)
    numbers = {number for number in map(_double, matcher.values) if number is not None}
    return lambda value: value in texts or (_is_double(value) and _double(value) in numbers)


def _is_double(value: str) -> bool:
    """Whether a number was written with a fraction or an exponent, so that it is compared as a double."""
    return not value.startswith(STRING_TAG) and ("." in value or "E" in value)


def _double(value: str) -> float | None:
    try:
        return None if value.startswith(STRING_TAG) else float(value)
    except ValueError:  # true, false, null
        return None


def _between(matcher: Matcher) -> _Test:
    def test(value: str) -> bool:
        number = _double(value)
        return number is not None and matcher.low <= number <= matcher.high

    return test


def _prefix(matcher: Matcher) -> _Test:
    return lambda value: value.startswith(matcher.values)


def _suffix(matcher: Matcher) -> _Test:
    """The bare text: the tag is not part of it."""
    return lambda value: value.startswith(STRING_TAG) and value[1:].endswith(matcher.values)


def _equals_ignore_case(matcher: Matcher) -> _Test:
    wanted = frozenset(each.lower() for each in matcher.values)
    return lambda value: value.lower() in wanted


def _prefix_ignore_case(matcher: Matcher) -> _Test:
    wanted = tuple(each.lower() for each in matcher.values)
    return lambda value: value.lower().startswith(wanted)


def _suffix_ignore_case(matcher: Matcher) -> _Test:
    wanted = tuple(each.lower() for each in matcher.values)
    return lambda value: value.startswith(STRING_TAG) and value[1:].lower().endswith(wanted)


def _wildcard(matcher: Matcher) -> _Test:
    expressions = [_python(each) for each in matcher.values]
    return lambda value: any(each.search(value) for each in expressions)


@lru_cache(maxsize=1_000)
def _python(expression: str) -> re.Pattern[str]:
    r"""A regular expression of Java as Python's, with `\Z` in place of the final `\z`."""
    return re.compile(expression.removesuffix(r"\z") + r"\Z")


_ONE_LOOK: Final = frozenset({"equals", "equals_ignore_case", "between"})
_TESTS: Final[dict[str, Callable[[Matcher], _Test]]] = {
    "equals": _equals,
    "equals_ignore_case": _equals_ignore_case,
    "prefix": _prefix,
    "prefix_ignore_case": _prefix_ignore_case,
    "suffix": _suffix,
    "suffix_ignore_case": _suffix_ignore_case,
    "wildcard": _wildcard,
    "between": _between,
}
