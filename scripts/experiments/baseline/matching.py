"""Event patterns evaluated in plain Python: closures over the event as a dictionary."""

import operator
import re
from collections.abc import Callable, Mapping, Sequence
from typing import Any

Event = Mapping[str, Any]
Test = Callable[[Event], bool]
_Accepts = Callable[[Any], bool]

_COMPARE = {
    "<": operator.lt,
    "<=": operator.le,
    "=": operator.eq,
    ">=": operator.ge,
    ">": operator.gt,
}
_ABSENT = object()


def matcher(pattern: Mapping[str, Any]) -> Test:
    """A test of an event (attributes at the top level, parsed `data` below) against a valid pattern."""
    tests = [_field(name, wanted) for name, wanted in pattern.items()]
    return lambda event: all(test(event) for test in tests)


def fields(pattern: Mapping[str, Any]) -> set[str]:
    """The members of an event that the pattern tests; if `data` is one of them, it must be parsed."""
    inner = [fields(branch) for branch in pattern.get("$or", ())]
    return {name for name in pattern if name != "$or"}.union(*inner)


def _field(name: str, wanted: Any) -> Test:
    if name == "$or":
        branches = [matcher(branch) for branch in wanted]
        return lambda event: any(branch(event) for branch in branches)
    if isinstance(wanted, Mapping):
        inner = matcher(wanted)
        return lambda event: inner(_mapping(event.get(name)))
    accepts = [_accepts(rule) for rule in wanted]
    return lambda event: any(
        accept(value) for value in _values(event.get(name, _ABSENT)) for accept in accepts
    )


def _mapping(value: Any) -> Event:
    return value if isinstance(value, Mapping) else {}


def _values(value: Any) -> Sequence[Any]:
    return value if isinstance(value, list) and value else [value]


def _accepts(rule: Any) -> _Accepts:
    if not isinstance(rule, Mapping):
        return lambda value: _same(value, rule)
    ((name, wanted),) = rule.items()
    return _RULES[name](wanted)


def _same(value: Any, wanted: Any) -> bool:
    return value is not _ABSENT and value == wanted and isinstance(value, bool) == isinstance(wanted, bool)


def _exists(wanted: bool) -> _Accepts:
    return lambda value: (value is not _ABSENT) is wanted


def _text(test: Callable[[str], bool]) -> _Accepts:
    return lambda value: isinstance(value, str) and test(value)


def _prefix(wanted: str) -> _Accepts:
    return _text(lambda text: text.startswith(wanted))


def _suffix(wanted: str) -> _Accepts:
    return _text(lambda text: text.endswith(wanted))


def _wildcard(wanted: str) -> _Accepts:
    shape = re.compile(".*".join(map(re.escape, wanted.split("*"))), re.DOTALL)
    return _text(lambda text: shape.fullmatch(text) is not None)


def _ignoring_case(wanted: str) -> _Accepts:
    return _text(lambda text: text.lower() == wanted.lower())


def _anything_but(wanted: Any) -> _Accepts:
    refused = [_accepts(rule) for rule in (wanted if isinstance(wanted, list) else [wanted])]
    return lambda value: value is not _ABSENT and not any(refuse(value) for refuse in refused)


def _numeric(wanted: Sequence[Any]) -> _Accepts:
    bounds = [(_COMPARE[sign], bound) for sign, bound in zip(wanted[::2], wanted[1::2], strict=True)]

    def within(value: Any) -> bool:
        number = isinstance(value, int | float) and not isinstance(value, bool)
        return number and all(compare(value, bound) for compare, bound in bounds)

    return within


_RULES: Mapping[str, Callable[[Any], _Accepts]] = {
    "exists": _exists,
    "prefix": _prefix,
    "suffix": _suffix,
    "wildcard": _wildcard,
    "equals-ignore-case": _ignoring_case,
    "anything-but": _anything_but,
    "numeric": _numeric,
}
