"""Order statistics of latencies, and the spread of repeated runs. Pure."""

import math
from collections.abc import Iterable, Sequence
from statistics import median

from msgspec import Struct


class Quantiles(Struct, frozen=True, kw_only=True):
    """Latencies of one run, milliseconds."""

    count: int
    p50: float
    p95: float
    p99: float
    highest: float


class Spread(Struct, frozen=True, kw_only=True):
    """A figure over repeated runs."""

    median: float
    lowest: float
    highest: float


def percentile(ordered: Sequence[float], percent: float) -> float:
    """Nearest-rank percentile of an ascending sequence: always a measured value.

    Raises:
        ValueError: if the sequence is empty or `percent` is not in (0, 100].
    """
    if not ordered:
        raise ValueError("a percentile needs at least one value")
    if not 0 < percent <= 100:
        raise ValueError(f"a percentile must be in (0, 100], not {percent}")
    return ordered[math.ceil(len(ordered) * percent / 100) - 1]


def quantiles(values: Iterable[float]) -> Quantiles | None:
    """p50, p95, p99 and the maximum; None without values."""
    ordered = sorted(values)
    if not ordered:
        return None
    return Quantiles(
        count=len(ordered),
        p50=percentile(ordered, 50),
        p95=percentile(ordered, 95),
        p99=percentile(ordered, 99),
        highest=ordered[-1],
    )


def spread(values: Iterable[float]) -> Spread | None:
    """Median, minimum and maximum; None without values."""
    listed = list(values)
    if not listed:
        return None
    return Spread(median=median(listed), lowest=min(listed), highest=max(listed))
