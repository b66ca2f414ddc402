"""Values that a minute has: p95, CPU an event and memory of a version, and those of the side beside it. Pure.

p95 and CPU an event are compared by the rank-sum test, memory by Kendall's test for a trend, both at
MINUTE_ERROR. Memory is also held against the other side's, which has been warm for long and has more to do.
Each function says in words what is worse, and nothing if nothing is.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.significance import rank_sum_greater, rising

MINUTE_ERROR: Final = 0.005
"""Probability that a test finds a difference where there is none: five minutes against five can reach it, and
six in a trend."""

_P95_FACTOR: Final = 1.2
_P95_MS: Final = 50.0
_CPU_FACTOR: Final = 1.3
_COMPARABLE: Final = 1 / 3
"""CPU an event is compared in minutes in which the target had at least so much of the other's traffic: what a
side uses without traffic would count against the one that has less."""

_WARM_MINUTES: Final = 4
"""In its first minutes with traffic a version still fills its heap and compiles what is busy."""

_GROWTH: Final = 1.2
_MEMORY_FACTOR: Final = 1.3
_HEAVY_MINUTES: Final = 2
"""In so many minutes, one after the other, it needs more: once may be a process that replaces another."""

_MEBIBYTE: Final = 1024 * 1024

Pair = tuple[SideMinute, SideMinute]
"""Of one minute in which both had traffic, the target's figures and the other side's."""

Pairs = Sequence[Pair]


def slower(pairs: Pairs) -> Iterator[str]:
    """p95 is higher."""
    known = [(a.p95_ms, b.p95_ms) for a, b in pairs if a.p95_ms is not None and b.p95_ms is not None]
    limits = [_P95_FACTOR * theirs + _P95_MS for _, theirs in known]
    yield from _values("p95, ms", [ours for ours, _ in known], [theirs for _, theirs in known], limits)


def costlier(pairs: Pairs) -> Iterator[str]:
    """An event costs more CPU."""
    known = [
        (1_000 * a.cpu_seconds / a.total, 1_000 * b.cpu_seconds / b.total)
        for a, b in pairs
        if a.cpu_seconds is not None and b.cpu_seconds is not None and a.total >= _COMPARABLE * b.total
        if a.total and b.total
    ]
    limits = [_CPU_FACTOR * theirs for _, theirs in known]
    yield from _values("CPU an event, ms", [ours for ours, _ in known], [other for _, other in known], limits)


def _values(
    what: str, ours: Sequence[float], theirs: Sequence[float], limits: Sequence[float]
) -> Iterator[str]:
    if not ours:
        return
    chance = rank_sum_greater(ours, limits)
    if chance <= MINUTE_ERROR:
        medians = f"median {_median(ours):.4g} against {_median(theirs):.4g} in {len(ours)} minutes"
        yield f"{what}: {medians} (rank-sum test, one-sided: p = {chance:.2g}, limit {MINUTE_ERROR:g})"


def heavier(pairs: Pairs) -> Iterator[str]:
    """Memory is much more: a leak that would fill the machine before its trend is proven."""
    known = [(a.memory_bytes, b.memory_bytes) for a, b in pairs if a.memory_bytes and b.memory_bytes]
    most = max((theirs for _, theirs in known), default=0)
    last = [ours for ours, _ in known[-_HEAVY_MINUTES:]]
    if len(last) == _HEAVY_MINUTES and min(last) > _MEMORY_FACTOR * most:
        figures = f"{last[-1] / _MEBIBYTE:,.0f} MiB against {most / _MEBIBYTE:,.0f}"
        yield f"memory: {figures}, more than {_MEMORY_FACTOR:g} times as much in {_HEAVY_MINUTES} minutes"


def growing(target: Sequence[SideMinute]) -> Iterator[str]:
    """Memory rises on and on, although the version is warm."""
    memory = [each.memory_bytes for each in target[_WARM_MINUTES:] if each.memory_bytes is not None]
    if len(memory) < 2 or memory[-1] < _GROWTH * memory[0]:
        return
    chance = rising(memory)
    if chance <= MINUTE_ERROR:
        rise = f"from {memory[0] / _MEBIBYTE:,.0f} to {memory[-1] / _MEBIBYTE:,.0f} MiB"
        yield (
            f"memory rises {rise} in {len(memory)} minutes "
            f"(Kendall's test, one-sided: p = {chance:.2g}, limit {MINUTE_ERROR:g})"
        )


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
