import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.experiments.harness.percentiles import percentile, quantiles, spread

latencies = st.lists(st.floats(0, 1e6), min_size=1)


@given(latencies, st.floats(0.1, 100))
def test_at_least_that_percentage_lies_at_or_below_a_percentile_and_no_lower_value_does(
    values: list[float], percent: float
) -> None:
    found = percentile(sorted(values), percent)
    assert found in values
    assert sum(v <= found for v in values) / len(values) * 100 >= percent - 1e-9
    assert sum(v < found for v in values) / len(values) * 100 < percent + 1e-9


@given(latencies)
def test_quantiles_are_ordered(values: list[float]) -> None:
    found = quantiles(values)
    assert found is not None
    assert found.p50 <= found.p95 <= found.p99 <= found.highest == max(values)


def test_no_values_have_no_quantiles_and_no_spread() -> None:
    assert quantiles([]) is None
    assert spread([]) is None
    with pytest.raises(ValueError, match="at least one value"):
        percentile([], 95)


def test_spread_is_the_median_between_the_extremes() -> None:
    found = spread([3.0, 1.0, 2.0])
    assert found is not None
    assert (found.lowest, found.median, found.highest) == (1.0, 2.0, 3.0)
