"""The rate limiter on the test's clock."""

from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.collect.rate_limiter import BURST_SECONDS, RateLimiter


class Time:
    now = 0.0

    def __call__(self) -> float:
        return self.now


requests = st.lists(st.tuples(st.floats(0, 3), st.integers(1, 50)), max_size=60)


@given(st.floats(1, 100), requests)
def test_passed_events_stay_below_rate_burst_and_one_request(
    rate: float, given_: list[tuple[float, int]]
) -> None:
    time, passed, largest = Time(), 0, 0
    limiter = RateLimiter(time)
    for pause, events in given_:
        time.now += pause
        largest = max(largest, events)
        if limiter.retry_after(("acme", "s"), rate, events) == 0:
            passed += events
    assert passed <= rate * (time.now + BURST_SECONDS) + largest + 1e-6


@given(st.floats(0.1, 100), requests, st.integers(1, 200))
def test_a_client_that_waits_as_long_as_required_passes(
    rate: float, given_: list[tuple[float, int]], events: int
) -> None:
    time = Time()
    limiter = RateLimiter(time)
    for pause, earlier in given_:
        time.now += pause
        limiter.retry_after(("acme", "s"), rate, earlier)
    wait = limiter.retry_after(("acme", "s"), rate, events)
    if wait:
        time.now += wait
        assert limiter.retry_after(("acme", "s"), rate, events) == 0


def test_a_batch_over_the_burst_passes_a_full_bucket_and_leaves_a_debt() -> None:
    time = Time()
    limiter = RateLimiter(time)
    assert limiter.retry_after(("acme", "s"), 10, 100) == 0
    assert limiter.retry_after(("acme", "s"), 10, 0) == 8
    time.now = 8.1
    assert limiter.retry_after(("acme", "s"), 10, 1) == 0


def test_sources_do_not_share_and_without_a_rate_all_pass() -> None:
    limiter = RateLimiter(Time())
    assert limiter.retry_after(("acme", "a"), 1, 100) == 0
    assert limiter.retry_after(("acme", "a"), 1, 1) > 0
    assert limiter.retry_after(("acme", "b"), 1, 1) == 0
    assert limiter.retry_after(("zoo", "a"), 1, 1) == 0, "another tenant's source of the same name"
    assert limiter.retry_after(("acme", "c"), None, 10**9) == 0


def test_sources_that_come_and_go_are_forgotten_and_one_in_debt_is_not() -> None:
    time = Time()
    limiter = RateLimiter(time)
    assert limiter.retry_after(("acme", "debtor"), 1, 100_000) == 0
    for minute in range(20_000):
        time.now += 1
        assert limiter.retry_after(("acme", f"run-{minute}"), 10, 1) == 0
    assert len(limiter) < 2_000
    assert limiter.retry_after(("acme", "debtor"), 1, 1) > 0
