"""Percentiles from histograms are as near as the module says, and histograms add."""

import math

import numpy as np
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.lag_histogram import ERROR, histogram, merged, percentile, value

lags = st.lists(st.integers(0, 10**10), min_size=1, max_size=200)


@given(lags, st.sampled_from([0.0, 0.01, 0.5, 0.95, 0.99, 1.0]))
def test_percentile_is_within_the_stated_error_of_the_exact_one(values: list[int], share: float) -> None:
    exact = sorted(values)[max(1, math.ceil(share * len(values))) - 1]
    told = percentile(histogram(np.array(values)), share)
    assert told is not None
    assert abs(told - exact) <= max(1.0, exact * (ERROR + 1e-6))


@given(lags, lags)
def test_merged_histograms_are_the_histogram_of_all(some: list[int], others: list[int]) -> None:
    both = merged([histogram(np.array(some)), histogram(np.array(others))])
    assert both == histogram(np.array(some + others))
    assert sum(both.values()) == len(some) + len(others)


def test_no_lag_is_negative() -> None:
    assert histogram(np.array([-(10**12), -1, 0, 1])) == {0: 4}
    assert percentile({0: 4}, 0.95) == value(0) == 1.0


def test_nothing_has_no_percentile() -> None:
    assert histogram(np.array([], np.int64)) == {}
    assert percentile({}, 0.5) is None
