"""Evaluates compiled patterns, as `pipelines/data/route/matching.py` does with Columns. Pure."""

from collections.abc import Callable, Iterable, Iterator, Sequence
from itertools import accumulate
from typing import Final

from msgspec import Struct

from shared.contracts.comparing_steps import Comparing, comparing
from shared.contracts.matchers import STRING_TAG, Matcher, as_double
from shared.contracts.matching_steps import MATCHING_STEPS
from shared.contracts.patterns import DATA, Alternatives, Condition
from shared.matching.event_values import EventValues

_Test = Callable[[str], bool]


class TooManyComparisonsError(Exception):
    """The event takes more than MATCHING_STEPS: route would not match it."""


class Unmet(Struct, frozen=True):
    """A condition that an event does not meet."""

    condition: Condition
    found: Sequence[str]
    """The tagged texts at the condition's path."""


def first_unmet(alternatives: Alternatives, event: EventValues) -> Unmet | None:
    """None if the event matches; else the first unmet condition of the alternative that it meets most of.

    Conditions on attributes come first, as in route: only the alternatives that they leave are compared with
    the data.

    Raises:
        TooManyComparisonsError: see `shared.contracts.matching_steps`.
    """
    split = [_split(conditions) for conditions in alternatives]
    _check(_comparing((each for attributes, _ in split for each in attributes), event))
    failed = [_first_failed(attributes, event) for attributes, _ in split]
    left = [data for (_, data), at in zip(split, failed, strict=True) if data and at is None]
    if left:
        _check(event.reading({each.path[1:] for _, data in split for each in data}))
        _check(_comparing((each for data in left for each in data), event))
    unmet: list[tuple[int, Condition]] = []
    for (attributes, data), at in zip(split, failed, strict=True):
        conditions = (*attributes, *data)
        first = _first_failed(conditions, event, len(attributes)) if at is None else at
        if first is None:
            return None
        unmet.append((first, conditions[first]))
    _, condition = max(unmet, key=lambda each: each[0])
    return Unmet(condition, event.at(condition.path))


def _split(conditions: Sequence[Condition]) -> tuple[Sequence[Condition], Sequence[Condition]]:
    """Those on attributes, and those on data."""
    on_data = [each for each in conditions if each.path[0] == DATA]
    return [each for each in conditions if each.path[0] != DATA], on_data


def _check(steps: Iterable[int]) -> None:
    """Refuse more than MATCHING_STEPS; the rest are not counted then."""
    if any(found > MATCHING_STEPS for found in accumulate(steps)):
        raise TooManyComparisonsError


def _comparing(conditions: Iterable[Condition], event: EventValues) -> Iterator[int]:
    known = dict[int, Comparing]()  # by identity: alternatives share the conditions beside an `$or`
    for condition in conditions:
        if id(condition) not in known:
            known[id(condition)] = comparing(condition.matchers)
        yield known[id(condition)].of(len(event.at(condition.path)), event.characters(condition.path))


def _first_failed(conditions: Sequence[Condition], event: EventValues, begin: int = 0) -> int | None:
    """The index of the first condition from `begin` on that the event does not meet."""
    for at, condition in enumerate(conditions[begin:], begin):
        found = event.at(condition.path)
        if not any(_passes(matcher, found) for matcher in condition.matchers):
            return at
    return None


def _passes(matcher: Matcher, values: Sequence[str]) -> bool:
    if matcher.op == "absent":
        return not values
    if matcher.op == "present":
        return bool(values)
    if not values:
        return False
    test = _TESTS[matcher.op](matcher)
    return any(test(value) != matcher.negate for value in values)


def _equals(matcher: Matcher) -> _Test:
    texts = frozenset(matcher.values)
    numbers = {number for number in map(as_double, matcher.values) if number is not None}
    return lambda value: value in texts or (_is_double(value) and as_double(value) in numbers)


def _is_double(value: str) -> bool:
    """Whether a number was written with a fraction or an exponent, so that it is compared as a double."""
    return not value.startswith(STRING_TAG) and ("." in value or "E" in value)


def _between(matcher: Matcher) -> _Test:
    def test(value: str) -> bool:
        number = as_double(value)
        return number is not None and matcher.low <= number <= matcher.high

    return test


def _prefix(matcher: Matcher) -> _Test:
    return lambda value: value.startswith(matcher.values)


def _suffix(matcher: Matcher) -> _Test:
    """The bare text: the tag is not part of it."""
    return lambda value: value.startswith(STRING_TAG) and value.endswith(matcher.values, len(STRING_TAG))


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
    return lambda value: any(_has_parts(value, *parts) for parts in matcher.parts)


def _has_parts(value: str, first: str, *others: str) -> bool:
    """Whether a tagged text is these parts with anything between them, as the expression of Java says.

    Parts are searched for as plain texts: Python's expressions would take seconds for a long text.
    """
    first = STRING_TAG + first
    if not others:
        return value == first
    if not value.startswith(first):
        return False
    *middle, last = others
    end = len(first)
    for part in middle:
        found = value.find(part, end)
        if found < 0:
            return False
        end = found + len(part)
    return value.endswith(last, end)


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
