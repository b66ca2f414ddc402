"""Values of a version that are much worse in two consecutive minutes: p95, CPU per event, memory. Pure.

A release on one machine has four settled minutes in which both sides have traffic, too few for the tests
of `minute_values`: two at the first share, one in which half begins, one at half. Here the differences are so
large that two minutes are enough. A version that is worse by less is found where it is watched for longer.
The pairs for p95 and CPU are of minutes in which the target is warm (`warming`). Each function says in words
what is worse, and nothing if nothing is.
"""

from collections.abc import Iterator
from itertools import pairwise
from typing import Final

from pipelines.control.deploy.judging.minute_values import MEBIBYTE, Pairs, event_costs

_FACTOR: Final = 2.0
"""Above so many times p95 and CPU an event are much worse. On a machine with ten times its load p95 differed
by x0.65 to x1.97 between runs at the same rate (docs/proofs.md). CPU differs by x1.38 between days, which
both sides share; the compiler takes a tenth for minutes (docs/performance.md), and readings are seconds
apart."""

_P95_MS: Final = 200.0
"""Least increase of p95 besides the factor: a micro-batch of transmit and the wait for it take as long."""

_LEAST_EVENTS: Final = 1_000
"""Least events on each side: with fewer, p95 may be the delay of a few requests with a batch each."""

_MEMORY_FACTOR: Final = 1.3
_HEAVY_MINUTES: Final = 2
"""Consecutive minutes with more memory that count as worse: one may be a process that replaces another."""


def much_slower(pairs: Pairs) -> Iterator[str]:
    """p95 is much higher."""
    known = [
        (a.p95_ms, b.p95_ms)
        for a, b in pairs
        if a.p95_ms is not None and b.p95_ms is not None and min(a.total, b.total) >= _LEAST_EVENTS
    ]
    yield from _twice("p95, ms", known, _P95_MS)


def much_costlier(pairs: Pairs) -> Iterator[str]:
    """An event costs much more CPU, in every minute: with any share of the traffic.

    In one minute alone the other side may seem to use less than it does, if one of its processes ended.
    """
    yield from _twice("CPU an event, ms", event_costs(pairs), 0.0)


def _twice(what: str, known: list[tuple[float, float]], margin: float) -> Iterator[str]:
    """The first two minutes, one after the other, in which a value is much higher; in words.

    Args:
        what: the value, in ms.
        known: the target's and the other side's, oldest first.
        margin: by how much it is higher as well, at least, ms.
    """
    for two in pairwise(known):
        if all(ours > _FACTOR * theirs + margin for ours, theirs in two):
            ours, theirs = (
                " and ".join(f"{each:.4g}" for each in values) for values in zip(*two, strict=True)
            )
            more = f" and {margin:g} ms" if margin else ""
            yield f"{what}: {ours} against {theirs}, more than {_FACTOR:g} times as much{more} in two minutes"
            return


def heavier(pairs: Pairs) -> Iterator[str]:
    """Memory is much higher: a leak that would fill the machine before its trend is proven. It is compared
    with the other side's, which has been warm for long and does more work."""
    known = [(a.memory_bytes, b.memory_bytes) for a, b in pairs if a.memory_bytes and b.memory_bytes]
    most = max((theirs for _, theirs in known), default=0)
    last = [ours for ours, _ in known[-_HEAVY_MINUTES:]]
    if len(last) == _HEAVY_MINUTES and min(last) > _MEMORY_FACTOR * most:
        figures = f"{last[-1] / MEBIBYTE:,.0f} MiB against {most / MEBIBYTE:,.0f}"
        yield f"memory: {figures}, more than {_MEMORY_FACTOR:g} times as much in {_HEAVY_MINUTES} minutes"
