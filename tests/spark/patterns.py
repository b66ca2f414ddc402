"""Strategies of event patterns and events over a small shared domain, so that matches are frequent."""

import json
from typing import Any, TypeVar

from hypothesis import HealthCheck, Phase, given, settings
from hypothesis import strategies as st

T = TypeVar("T")

Case = tuple[dict[str, Any], dict[str, Any]]
"""A pattern and an event of one attribute (`type`) and `data`."""

_KEYS = st.sampled_from(["a", "b", "c d", "é'\"$"])
_TEXTS = st.sampled_from(
    ["", "a", "ab", "aB", "Bab", "5", "true", "null", '"', "a%b", "a_b", "\\", "a*b", "É😀"]
)
_NUMBERS = st.sampled_from(
    [2, 5, 5.0, 5.5, -7, 300, 3e2, 0.1, 1e-7, 1e22, 12345678901234567890, 12345678901234567891]
)
_SCALARS = _TEXTS | _NUMBERS | st.none()
_BOUNDS = st.sampled_from([-8, 2, 5, 5.5, 300.5, 1e22])


def _one_or_list(values: st.SearchStrategy[Any]) -> st.SearchStrategy[Any]:
    return values | st.lists(values, min_size=1, max_size=2)


def _named(name: str, operand: st.SearchStrategy[Any]) -> st.SearchStrategy[dict[str, Any]]:
    return operand.map(lambda value: {name: value})


_WILDCARDS = st.lists(st.sampled_from(["a", "b", "%", ".", "\\\\", "\\*", "É", "😀"]), max_size=3).flatmap(
    lambda parts: st.sampled_from(["*".join(parts), "*" + "".join(parts), "".join(parts)])
)
_TEXT_OPERATORS = st.one_of(
    *(_named(name, _TEXTS | _named("equals-ignore-case", _TEXTS)) for name in ("prefix", "suffix")),
    _named("equals-ignore-case", _TEXTS),
    _named("wildcard", _WILDCARDS),
)
_ANYTHING_BUT = _named(
    "anything-but",
    st.one_of(
        _one_or_list(_TEXTS | _NUMBERS),
        *(_named(name, _one_or_list(_TEXTS)) for name in ("prefix", "suffix", "equals-ignore-case")),
        _named("wildcard", _WILDCARDS),
    ),
)
_NUMERIC = _named(
    "numeric",
    st.one_of(
        st.tuples(st.sampled_from(["<", "<=", "=", ">=", ">"]), _BOUNDS).map(list),
        # 1e22 and half a step more are the same double, and no number lies between them.
        st.tuples(_BOUNDS.filter(lambda bound: bound < 1e22), st.sampled_from([0.5, 100])).map(
            lambda r: [">", r[0], "<=", r[0] + r[1]]
        ),
    ),
)
_EXISTS = _named("exists", st.booleans())
_ON_TEXT = st.lists(_TEXTS | _TEXT_OPERATORS | _ANYTHING_BUT | _EXISTS, min_size=1, max_size=3)
ON_DATA = st.lists(
    _SCALARS | st.booleans() | _TEXT_OPERATORS | _ANYTHING_BUT | _NUMERIC | _EXISTS, min_size=1, max_size=3
)


def _data_patterns() -> st.SearchStrategy[dict[str, Any]]:
    fields = st.dictionaries(_KEYS, ON_DATA, min_size=1, max_size=2)
    return st.recursive(
        fields,
        lambda inner: (
            st.dictionaries(_KEYS, inner | ON_DATA, min_size=1, max_size=2)
            | st.tuples(fields, st.lists(inner, min_size=1, max_size=2)).map(lambda p: {**p[0], "$or": p[1]})
        ),
        max_leaves=3,
    )


def patterns() -> st.SearchStrategy[dict[str, Any]]:
    """Patterns over `type` and `data`, with `$or` at any level."""
    plain = st.fixed_dictionaries({}, optional={"type": _ON_TEXT, "data": _data_patterns()})
    return st.one_of(
        plain, st.lists(plain.filter(bool), min_size=1, max_size=2).map(lambda branches: {"$or": branches})
    )


def events() -> st.SearchStrategy[dict[str, Any]]:
    """Events without booleans, empty containers or objects in arrays: see `moto_agrees_with_aws`."""
    leaves = _one_or_list(_SCALARS)
    objects = st.recursive(
        st.dictionaries(_KEYS, leaves, min_size=1, max_size=3),
        lambda inner: st.dictionaries(_KEYS, inner | leaves, min_size=1, max_size=3),
        max_leaves=4,
    )
    return st.fixed_dictionaries({"type": _TEXTS, "data": objects})


def cases() -> st.SearchStrategy[Case]:
    """Pairs of a pattern and an event."""
    return st.tuples(patterns(), events())


def drawn(strategy: st.SearchStrategy[T], number: int) -> list[T]:
    """Examples drawn from a strategy, for one Spark job: as one example, a long list has little variety."""
    found: list[T] = []

    @settings(
        max_examples=number,
        database=None,
        phases=(Phase.generate,),
        suppress_health_check=list(HealthCheck),
    )
    @given(strategy)
    def collect(example: T) -> None:
        found.append(example)

    collect()
    return found


def data_text(event: dict[str, Any]) -> bytes:
    """The data as JSON, without escaping characters beyond ASCII."""
    return json.dumps(event["data"], ensure_ascii=False).encode()
