"""Pipes to rows of `schema.SOURCE_ROW`, as plain Python values. Pure."""

from collections.abc import Callable, Iterable, Iterator
from typing import Any

from shared.contracts.documents import Pipe, TenantName
from shared.contracts.headers import attribute_header
from shared.contracts.matchers import Matcher, as_double
from shared.contracts.matching_steps import Comparing, comparing, steps_per_byte
from shared.contracts.patterns import DATA, Condition, compile_pattern
from shared.contracts.watches import check_watches, watched_names
from shared.matching.sampling import threshold

Row = tuple[Any, ...]


def valid_pipes(pipes: Iterable[Pipe], now_ms: int, refused: Callable[[Pipe, str], None]) -> Iterator[Pipe]:
    """The pipes that compile; `refused` is called for the others.

    The API writes valid documents only, but a document on the topic may come from another version. One bad
    pipe must not stop the others.
    """
    for pipe in pipes:
        try:
            source_row((pipe.tenant, pipe.source), [pipe], now_ms)
        except Exception as error:  # a document of another version may fail in any way
            refused(pipe, f"{type(error).__name__}: {error}")
        else:
            yield pipe


def source_row(source: TenantName, pipes: Iterable[Pipe], now_ms: int) -> Row:
    """The row of one tenant's source: the alternatives of all its pipes in one list."""
    pipes = list(pipes)
    attributes, data = PathSlots(), PathSlots()
    alternatives = [
        (
            pipe.name,
            threshold(pipe, now_ms),
            [_condition(c, attributes.of(c.path)) for c in conditions if c.path[0] != DATA],
            [_condition(c, data.of(c.path[1:])) for c in conditions if c.path[0] == DATA],
        )
        for pipe in pipes
        for conditions in compile_pattern(pipe.match)
    ]
    watches = [_watched(pipe, data) for pipe in pipes if pipe.watch] or None
    names = [attribute_header(path[0]) for path in attributes.paths]
    costs = (Comparing(*condition[2:]) for *_, on_data in alternatives for condition in on_data)
    per_byte = steps_per_byte(data.paths, costs)
    return *source, names, [list(path) for path in data.paths], alternatives, watches, per_byte


def _watched(pipe: Pipe, data: "PathSlots") -> Row:
    check_watches(pipe.watch, pipe.masks)
    fields = [(each.field, each.kind, data.of(watched_names(each.field))) for each in pipe.watch]
    return pipe.name, fields


class PathSlots:
    """Assigns numbers to distinct paths, in the order in which they are first used."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}

    def of(self, path: tuple[str, ...]) -> int:
        """The path's number."""
        return self._numbers.setdefault(path, len(self._numbers))

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """All paths; the index is the number."""
        return list(self._numbers)


def _condition(condition: Condition, slot: int) -> Row:
    return slot, [_matcher(matcher) for matcher in condition.matchers], *comparing(condition.matchers)


def _matcher(matcher: Matcher) -> Row:
    return matcher.op, list(matcher.values), _numbers(matcher), matcher.negate, matcher.low, matcher.high


def _numbers(matcher: Matcher) -> list[float]:
    """The listed numbers as doubles; Spark finds a zero of either sign by that sign only."""
    if matcher.op != "equals":
        return []
    found = [number for number in map(as_double, matcher.values) if number is not None]
    return [*found, -0.0] if 0.0 in found else found
