"""The rows of all sources; a batch compiles only those with pipes that changed."""

from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from typing import NamedTuple

from pipelines.data.route.config_rows import Row, source_row, valid_pipes
from shared.contracts.documents import Pipe, TenantName
from shared.matching.sampling import threshold


class _Kept(NamedTuple):
    pipes: Sequence[Pipe]
    """As the catalogue has them, those that do not compile included."""

    valid: Sequence[Pipe]
    thresholds: Sequence[int]
    """Of the valid pipes: they change while a pipe has a ramp."""

    row: Row


class KeptRows:
    """Compiles the pipes of a source when one of them is another object, as a catalogue's new document is."""

    def __init__(self, refused: Callable[[Pipe, str], None]) -> None:
        """`refused` is called once for a pipe that does not compile, until its source has other pipes."""
        self._refused = refused
        self._kept: dict[TenantName, _Kept] = {}

    def of(self, pipes: Iterable[Pipe], now_ms: int) -> list[Row]:
        """One row of `schema.SOURCE_ROW` for each source that has pipes which compile.

        Args:
            pipes: of all sources.
            now_ms: epoch milliseconds, for pipes with a ramp.
        """
        by_source: dict[TenantName, list[Pipe]] = defaultdict(list)
        for pipe in pipes:
            by_source[pipe.tenant, pipe.source].append(pipe)
        self._kept = {
            source: self._source(source, its_pipes, now_ms) for source, its_pipes in by_source.items()
        }
        return [kept.row for kept in self._kept.values() if kept.valid]

    def _source(self, source: TenantName, pipes: Sequence[Pipe], now_ms: int) -> _Kept:
        kept = self._kept.get(source)
        same = kept is not None and _same(kept.pipes, pipes)
        valid = kept.valid if kept and same else tuple(valid_pipes(pipes, now_ms, self._refused))
        thresholds = [threshold(pipe, now_ms) for pipe in valid]
        if kept and same and kept.thresholds == thresholds:
            return kept
        return _Kept(pipes, valid, thresholds, source_row(source, valid, now_ms))


def _same(pipes: Sequence[Pipe], others: Sequence[Pipe]) -> bool:
    """Whether they are the same objects: comparing what two of them say would cost as much as compiling."""
    return len(pipes) == len(others) and all(a is b for a, b in zip(pipes, others, strict=True))
