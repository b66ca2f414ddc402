"""Pipes to rows of `schema.SOURCE_ROW`, as plain Python values. Pure."""

from collections.abc import Callable, Iterable, Iterator, Mapping
from typing import Any

from pipelines.data.route.field_tree import Tree, slots, tree_of
from shared.contracts.comparing_steps import Comparing, comparing
from shared.contracts.documents import Pipe, TenantName
from shared.contracts.headers import attribute_header
from shared.contracts.matchers import Matcher, as_double
from shared.contracts.matching_steps import attribute_steps, steps_per_byte
from shared.contracts.patterns import DATA, Condition, DataPath, compile_pattern
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
    compiled = [(pipe, conditions) for pipe in pipes for conditions in compile_pattern(pipe.match)]
    paths = [condition.path for _, conditions in compiled for condition in conditions]
    attributes = slots(path for path in paths if path[0] != DATA)
    data = slots([*(path[1:] for path in paths if path[0] == DATA), *_watched_paths(pipes)])
    alternatives = [
        (
            pipe.name,
            threshold(pipe, now_ms),
            [_condition(c, attributes[c.path]) for c in conditions if c.path[0] != DATA],
            [_condition(c, data[c.path[1:]]) for c in conditions if c.path[0] == DATA],
        )
        for pipe, conditions in compiled
    ]
    watches = [_watched(pipe, data) for pipe in pipes if pipe.watch] or None
    names, tree = [attribute_header(name) for (name,) in attributes], tree_of(data)
    return *source, names, tree.row, alternatives, watches, *_steps(alternatives, tree)


def _watched_paths(pipes: Iterable[Pipe]) -> Iterator[DataPath]:
    for pipe in pipes:
        check_watches(pipe.watch, pipe.masks)
        yield from (watched_names(each.field) for each in pipe.watch)


def _watched(pipe: Pipe, data: Mapping[DataPath, int]) -> Row:
    return pipe.name, [(each.field, each.kind, data[watched_names(each.field)]) for each in pipe.watch]


def _steps(alternatives: Iterable[Row], tree: Tree) -> tuple[int, int]:
    """`steps_per_byte` and `attribute_steps`."""
    on_attributes, on_data = [], []
    for *_, of_attributes, of_data in alternatives:
        on_attributes += [Comparing(*condition[2:]) for condition in of_attributes]
        on_data += [(condition[0], Comparing(*condition[2:])) for condition in of_data]
    return steps_per_byte(tree.levels, tree.most_names, on_data), attribute_steps(on_attributes)


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
