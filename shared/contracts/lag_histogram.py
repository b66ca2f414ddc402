"""Histograms of lags with buckets that grow by 4 %, so that every percentile is accurate to 2 %.

Bucket i holds the lags in (GROWTH**(i-1), GROWTH**i] milliseconds, bucket 0 those of at most one; its value
is the point from which both bounds are equally far, as in DDSketch (Masson, Rim and Lee, 2019). Histograms
add.
"""

import math
from collections.abc import Iterable, Mapping
from typing import Final

import numpy as np
from numpy.typing import NDArray

GROWTH: Final = 1.04
ERROR: Final = (GROWTH - 1) / (GROWTH + 1)
"""Relative error of any percentile: 1.96 %. Lags below a millisecond are off by up to one millisecond."""

_LOG_GROWTH: Final = math.log(GROWTH)

Histogram = dict[int, int]
"""Events by bucket; a bucket without any is left out."""


def histogram(lags_ms: NDArray[np.int64]) -> Histogram:
    """The histogram of lags in milliseconds; none is negative: a clock that is ahead counts as no lag."""
    if not lags_ms.size:
        return {}
    buckets = np.ceil(np.log(np.maximum(lags_ms, 1)) / _LOG_GROWTH - 1e-9).astype(np.int64)
    counts = np.bincount(buckets)
    return {int(at): int(counts[at]) for at in np.flatnonzero(counts)}


def merged(histograms: Iterable[Mapping[int, int]]) -> Histogram:
    """The sum of several histograms."""
    total: Histogram = {}
    for each in histograms:
        for bucket, count in each.items():
            total[bucket] = total.get(bucket, 0) + count
    return total


def percentile(counts: Mapping[int, int], share: float) -> float | None:
    """The lag in milliseconds that `share` (0 to 1) of the events stay within; None without events."""
    total = sum(counts.values())
    if not total:
        return None
    wanted, seen = max(1, math.ceil(share * total)), 0
    for bucket in sorted(counts):
        seen += counts[bucket]
        if seen >= wanted:
            return value(bucket)
    raise AssertionError("a share of more than all")


def value(bucket: int) -> float:
    """The lag in milliseconds that stands for a bucket."""
    return 1.0 if bucket <= 0 else 2 * GROWTH**bucket / (GROWTH + 1)
