"""Percentiles of counted lags equal those of a sorted list."""

import math

import pytest
from hypothesis import given
from hypothesis import strategies as st

from scripts.load.lags import LagCounts
from scripts.load.timestamps import parse_ms
from shared.contracts.timestamps import format_time


@given(st.lists(st.integers(-100, 100_000), min_size=1, max_size=200))
def test_percentiles_are_those_of_the_sorted_list(lags: list[int]) -> None:
    counts = LagCounts()
    counts.add(lags)
    found, ordered = counts.snapshot(), sorted(lags)
    for value, share in ((found.p50, 0.5), (found.p95, 0.95), (found.p99, 0.99), (found.highest, 1.0)):
        assert value == ordered[math.ceil(len(ordered) * share) - 1]


def test_taking_a_snapshot_restarts_the_count() -> None:
    counts = LagCounts()
    counts.add([5])
    assert counts.take().count == 1
    assert counts.take().p95 is None


@given(st.integers(0, 4_000_000_000_000))
def test_times_survive_being_written_and_read(epoch_ms: int) -> None:
    assert parse_ms(format_time(epoch_ms)) == epoch_ms


@pytest.mark.parametrize("text", ["", "yesterday", "2026-01-31T12:00:00", "2026-13-01T00:00:00Z"])
def test_an_event_without_a_valid_time_has_no_lag(text: str) -> None:
    assert parse_ms(text) is None
