"""Counts lags by millisecond, for exact percentiles in one dictionary."""

import math
from collections import Counter
from collections.abc import Iterable, Mapping

from msgspec import Struct


class LagSnapshot(Struct, frozen=True, kw_only=True):
    """Percentiles of lags in milliseconds (nearest rank); None if nothing was counted."""

    count: int
    p50: int | None
    p95: int | None
    p99: int | None
    highest: int | None


class LagCounts:
    """How often each lag occurred."""

    def __init__(self) -> None:
        self._counts: Counter[int] = Counter()

    def add(self, lags_ms: Iterable[int]) -> None:
        """Count lags, in milliseconds."""
        self._counts.update(lags_ms)

    def take(self) -> LagSnapshot:
        """The snapshot; counting starts again from nothing."""
        counts, self._counts = self._counts, Counter()
        return snapshot(counts)

    def snapshot(self) -> LagSnapshot:
        """Percentiles of everything counted so far."""
        return snapshot(self._counts)


def snapshot(counts: Mapping[int, int]) -> LagSnapshot:
    """Percentiles of counted values."""
    count = sum(counts.values())
    p50, p95, p99, highest = _ranks(counts, [math.ceil(count * q) for q in (0.50, 0.95, 0.99, 1.0)])
    return LagSnapshot(count=count, p50=p50, p95=p95, p99=p99, highest=highest)


def _ranks(counts: Mapping[int, int], ranks: list[int]) -> list[int | None]:
    """The values at ascending ranks, from 1."""
    found: list[int | None] = []
    passed = 0
    for value in sorted(counts):
        passed += counts[value]
        while len(found) < len(ranks) and ranks[len(found)] <= passed:
            found.append(value)
    return found + [None] * (len(ranks) - len(found))
