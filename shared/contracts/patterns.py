"""Event patterns, the language of EventBridge rules, compiled to rows that route evaluates.

A pattern is a tree over an event's attributes (top level) and `data`; its leaves are lists of matchers.
Compiled it is a disjunction of conjunctions of `Condition`, plain data without code: a new pattern
restarts nothing.
"""

from typing import Any

from msgspec import Struct


class Condition(Struct, frozen=True, kw_only=True):
    """Some value at `path` passes `op` with one of `values`."""

    path: tuple[str, ...]
    op: str
    values: tuple[str, ...]


Alternatives = tuple[tuple[Condition, ...], ...]
"""Any of: all of."""


class PatternError(ValueError):
    """A pattern that cannot be compiled. `path` is where in it, as `.data.bitrate`."""

    def __init__(self, path: str, message: str) -> None:
        super().__init__(message)
        self.path = path


def compile_pattern(pattern: dict[str, Any]) -> Alternatives:
    """Rows for a pattern; an empty pattern gives one empty conjunction, which every event meets.

    Raises:
        PatternError: names the place and the mend.
    """
    if pattern:
        raise NotImplementedError
    return ((),)
