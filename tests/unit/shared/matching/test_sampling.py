"""Samples and ramps follow the clock and never close again."""

from datetime import UTC, datetime
from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.contracts.documents import Pipe, Ramp
from shared.matching.sampling import SAMPLE_BUCKETS, bucket, threshold

_START = datetime(2026, 1, 1, tzinfo=UTC)
_START_MS = int(_START.timestamp() * 1000)


def pipe(**fields: Any) -> Pipe:
    return Pipe(name="p", tenant="acme", source="player", destination="lake", **fields)


@pytest.mark.parametrize(
    ("minutes_passed", "expected"), [(-1, 0), (0, 0), (5, 1_000), (10, 2_000), (99, 2_000)]
)
def test_a_ramp_opens_in_a_line_up_to_the_sample(minutes_passed: float, expected: int) -> None:
    ramped = pipe(sample=20, ramp=Ramp(start=_START, minutes=10))

    assert threshold(ramped, _START_MS + int(minutes_passed * 60_000)) == expected


@given(st.floats(0, 100), st.integers(0, 10**7), st.integers(0, 10**7))
def test_a_ramp_never_closes_again(sample: float, earlier: int, later: int) -> None:
    ramped = pipe(sample=sample, ramp=Ramp(start=_START, minutes=60))
    first, second = sorted((earlier, later))

    assert threshold(ramped, _START_MS + first) <= threshold(ramped, _START_MS + second)


def test_events_are_spread_evenly_over_the_buckets() -> None:
    half = sum(bucket(f"e-{n}") < SAMPLE_BUCKETS // 2 for n in range(2_000))
    assert 900 < half < 1_100
