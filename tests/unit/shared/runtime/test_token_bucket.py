"""The token bucket that limits sources and destinations, as properties."""

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.runtime.token_bucket import TokenBucket

rates = st.floats(0.5, 1000)
bursts = st.floats(0.1, 10)
batches = st.lists(st.tuples(st.integers(1, 500), st.floats(0, 10)), min_size=1, max_size=100)


@given(rates, bursts, batches)
def test_passed_events_before_a_batch_stay_within_rate_and_burst(
    rate: float, burst: float, steps: list[tuple[int, float]]
) -> None:
    bucket, now, passed = TokenBucket(rate, burst), 0.0, 0
    for events, pause in steps:
        now += pause
        now += bucket.wait(now)
        assert passed <= (now + burst) * rate * 1.0001 + 1e-3
        bucket = bucket.after(events, now)
        passed += events


@given(rates, bursts, batches)
def test_batches_that_wait_for_their_own_events_stay_within_rate_and_burst(
    rate: float, burst: float, steps: list[tuple[int, float]]
) -> None:
    bucket, now, passed = TokenBucket(rate, burst), 0.0, 0
    for events, pause in steps:
        now += pause
        now += bucket.wait(now, events)
        bucket = bucket.after(events, now)
        passed += events
        debt = max(0.0, events - burst * rate)  # only what exceeds a full bucket
        assert passed <= (now + burst) * rate * 1.0001 + debt + 1e-3


@given(rates, bursts, batches, st.integers(0, 1000), st.floats(0, 1e6))
def test_a_caller_that_waits_as_long_as_required_passes(
    rate: float, burst: float, steps: list[tuple[int, float]], events: int, now: float
) -> None:
    bucket = TokenBucket(rate, burst)
    for earlier, pause in steps:
        bucket = bucket.after(earlier, now)
        now += pause
    assert bucket.wait(now + bucket.wait(now, events), events) == 0.0


@given(rates, bursts, st.floats(0, 1e6))
def test_a_full_bucket_lets_its_burst_pass_and_then_makes_the_next_event_wait(
    rate: float, burst: float, now: float
) -> None:
    bucket = TokenBucket(rate, burst)
    assert bucket.wait(now, int(rate * burst)) == 0.0
    emptied = bucket.after(int(rate * burst) + 1, now)
    assert emptied.wait(now, 1) == pytest.approx(
        min(1 / rate, burst) + (int(rate * burst) + 1) / rate - burst
    )


def test_a_batch_larger_than_the_burst_passes_and_is_paid_for_afterwards() -> None:
    bucket = TokenBucket(100.0, 1.0)
    assert bucket.wait(5.0, 500) == 0.0
    assert bucket.after(500, 5.0).wait(5.0) == 4.0


def test_a_pause_fills_the_bucket_no_further_than_its_burst() -> None:
    bucket = TokenBucket(10.0, 2.0).after(20, 0.0)
    assert bucket.after(20, 1000.0).wait(1000.0, 1) == pytest.approx(0.1)
