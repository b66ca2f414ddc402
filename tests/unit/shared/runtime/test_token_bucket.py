"""How many events a second a destination gets."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.transmit.admission.token_bucket import BURST_SECONDS, Bucket


def test_a_rested_bucket_lets_a_seconds_worth_go_at_once() -> None:
    bucket = Bucket(100.0)
    for _ in range(10):
        assert bucket.wait(0.0) == 0.0
        bucket = bucket.after(10, 0.0)
    bucket = bucket.after(1, 0.0)
    assert 0 < bucket.wait(0.0) <= 0.011


def test_a_request_larger_than_the_rate_goes_and_is_paid_for_afterwards() -> None:
    bucket = Bucket(100.0)
    assert bucket.wait(5.0) == 0.0
    assert bucket.after(500, 5.0).wait(5.0) == 4.0


@given(
    st.floats(0.5, 1000),
    st.lists(st.tuples(st.integers(1, 500), st.floats(0, 10)), min_size=1, max_size=100),
)
def test_no_string_of_requests_exceeds_rate_and_burst(rate: float, steps: list[tuple[int, float]]) -> None:
    bucket, now, events = Bucket(rate), 0.0, 0
    for count, rest in steps:
        now += rest
        now += bucket.wait(now)
        assert events <= (now + BURST_SECONDS) * rate * 1.0001 + 1e-6  # what went before this request
        bucket = bucket.after(count, now)
        events += count
