"""Pipes to rows of `schema.SOURCE_ROW`, as plain Python values. Pure."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Iterator
from typing import Any

from pipelines.data.route.schema import SAMPLE_BUCKETS
from shared.contracts.documents import Catalogue, Pipe
from shared.contracts.headers import attribute_header
from shared.contracts.patterns import DATA, Condition, Matcher, compile_pattern

Row = tuple[Any, ...]


def rows(pipes: Iterable[Pipe], now_ms: int) -> Iterator[Row]:
    """One row per source that has pipes.

    Args:
        pipes: of all sources.
        now_ms: epoch milliseconds, for pipes on a ramp.
    """
    by_source: dict[str, list[Pipe]] = defaultdict(list)
    for pipe in pipes:
        by_source[pipe.source].append(pipe)
    for source, its_pipes in by_source.items():
        yield source_row(source, its_pipes, now_ms)


def usable(catalogue: Catalogue, now_ms: int, refused: Callable[[Pipe, str], None]) -> Iterator[Pipe]:
    """The pipes that can be compiled and whose source is their own tenant's; `refused` is told of the others.

    What the command line publishes is fine, but a document on the topic may come from another version, or
    its source may have been taken away and given to another tenant. One pipe must not stop the others.
    """
    for pipe in catalogue.pipes.values():
        source = catalogue.sources.get(pipe.source)
        if source and source.tenant != pipe.tenant:
            refused(pipe, f"source {pipe.source!r} belongs to tenant {source.tenant!r}")
            continue
        try:
            source_row(pipe.source, [pipe], now_ms)
        except Exception as error:  # whatever a foreign document brings about
            refused(pipe, f"{type(error).__name__}: {error}")
        else:
            yield pipe


def source_row(source: str, pipes: Iterable[Pipe], now_ms: int) -> Row:
    """The pipes of one source, all their alternatives in one list."""
    attributes, data = Slots(), Slots()
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
    names = [attribute_header(path[0]) for path in attributes.paths]
    return source, names, [list(path) for path in data.paths], alternatives


class Slots:
    """Numbers for distinct paths, in the order they are first asked for."""

    def __init__(self) -> None:
        self._numbers: dict[tuple[str, ...], int] = {}

    def of(self, path: tuple[str, ...]) -> int:
        """The path's number."""
        return self._numbers.setdefault(path, len(self._numbers))

    @property
    def paths(self) -> list[tuple[str, ...]]:
        """All paths; the index is the number."""
        return list(self._numbers)


def threshold(pipe: Pipe, now_ms: int) -> int:
    """How many of SAMPLE_BUCKETS the pipe takes at a moment: its sample, scaled by where its ramp is."""
    open_part = 1.0
    if pipe.ramp is not None:
        passed = now_ms / 60_000 - pipe.ramp.start.timestamp() / 60
        open_part = min(1.0, max(0.0, passed / pipe.ramp.minutes))
    return round(pipe.sample / 100 * open_part * SAMPLE_BUCKETS)


def _condition(condition: Condition, slot: int) -> tuple[int, list[Row]]:
    return slot, [_matcher(matcher) for matcher in condition.matchers]


def _matcher(matcher: Matcher) -> Row:
    return matcher.op, list(matcher.values), matcher.negate, matcher.low, matcher.high
