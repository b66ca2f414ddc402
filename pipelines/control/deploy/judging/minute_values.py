"""Values that a minute has: p95, CPU an event and memory of a version, and those of the side beside it. Pure.

p95 and CPU an event are compared by the rank-sum test, memory by Kendall's test for a trend, both at
MINUTE_ERROR. They need five minutes or more; `few_minutes` finds large differences earlier. They test
MOST_MINUTES at most, as a deployer that was away for a day finds many more: the newest pairs, and memory at
minutes spread over all of them. Each function yields in words what is worse, and nothing otherwise.
"""

from collections.abc import Iterator, Sequence
from typing import Final

from pipelines.control.deploy.backend import SideMinute
from pipelines.control.deploy.judging.significance import rank_sum_greater, rising

MINUTE_ERROR: Final = 0.005
"""Probability that a test finds a difference where there is none: five minutes against five can reach it, and
six in a trend."""

MOST_MINUTES: Final = 120
"""The exact tests take a third of a second for this many; their time grows with the third power of the
number, their memory with the second."""

_P95_FACTOR: Final = 1.2
_P95_MS: Final = 50.0
_CPU_FACTOR: Final = 1.3
_COMPARABLE: Final = 1 / 3
"""Least ratio of the target's traffic to the other side's for comparing CPU per event: with less traffic, a
side's fixed cost hides the cost of the events."""

_WARM_MINUTES: Final = 4
"""First minutes with traffic, in which a version still fills its heap and compiles its hot code."""

_GROWTH: Final = 1.2

MEBIBYTE: Final = 1024 * 1024

Pair = tuple[SideMinute, SideMinute]
"""The target's figures and the other side's, of a minute in which both had traffic."""

Pairs = Sequence[Pair]


def slower(pairs: Pairs) -> Iterator[str]:
    """p95 is higher."""
    known = [(a.p95_ms, b.p95_ms) for a, b in pairs if a.p95_ms is not None and b.p95_ms is not None]
    known = known[-MOST_MINUTES:]
    limits = [_P95_FACTOR * theirs + _P95_MS for _, theirs in known]
    yield from _values("p95, ms", [ours for ours, _ in known], [theirs for _, theirs in known], limits)


def costlier(pairs: Pairs) -> Iterator[str]:
    """An event costs more CPU."""
    known = event_costs([(a, b) for a, b in pairs if a.total >= _COMPARABLE * b.total])[-MOST_MINUTES:]
    limits = [_CPU_FACTOR * theirs for _, theirs in known]
    yield from _values("CPU an event, ms", [ours for ours, _ in known], [other for _, other in known], limits)


def event_costs(pairs: Pairs) -> list[tuple[float, float]]:
    """Both sides' CPU milliseconds per event, for minutes in which they are known.

    A side uses most of its CPU however few events it has (docs/capacity.md). So at most as many of the other
    side's events count as the target had: an equally good target with a third of the traffic would otherwise
    seem to use three times as much for each.
    """
    return [
        (1_000 * a.cpu_seconds / a.total, 1_000 * b.cpu_seconds / min(a.total, b.total))
        for a, b in pairs
        if a.cpu_seconds and b.cpu_seconds and a.total and b.total
    ]


def _values(
    what: str, ours: Sequence[float], theirs: Sequence[float], limits: Sequence[float]
) -> Iterator[str]:
    if not ours:
        return
    chance = rank_sum_greater(ours, limits)
    if chance <= MINUTE_ERROR:
        medians = f"median {_median(ours):.4g} against {_median(theirs):.4g} in {len(ours)} minutes"
        yield f"{what}: {medians} (rank-sum test, one-sided: p = {chance:.2g}, limit {MINUTE_ERROR:g})"


def growing(target: Sequence[SideMinute]) -> Iterator[str]:
    """Memory rises on and on, although the version is warm."""
    memory = [each.memory_bytes for each in target[_WARM_MINUTES:] if each.memory_bytes is not None]
    if len(memory) < 2 or memory[-1] < _GROWTH * memory[0]:
        return
    chance = rising(_some_of(memory))
    if chance <= MINUTE_ERROR:
        rise = f"from {memory[0] / MEBIBYTE:,.0f} to {memory[-1] / MEBIBYTE:,.0f} MiB"
        yield (
            f"memory rises {rise} in {len(memory)} minutes "
            f"(Kendall's test, one-sided: p = {chance:.2g}, limit {MINUTE_ERROR:g})"
        )


def _some_of(values: Sequence[float]) -> Sequence[float]:
    """At most MOST_MINUTES, spread evenly and with the last one: a slow rise shows only over many hours."""
    step = -(-len(values) // MOST_MINUTES)
    return values[::-step][::-1]


def _median(values: Sequence[float]) -> float:
    return sorted(values)[len(values) // 2]
