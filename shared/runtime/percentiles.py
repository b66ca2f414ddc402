"""The percentile of measured values. Pure."""

from collections.abc import Sequence


def percentile_95(values: Sequence[int]) -> int:
    """The nearest-rank 95th percentile of at least one value."""
    return sorted(values)[-(-len(values) * 95 // 100) - 1]
