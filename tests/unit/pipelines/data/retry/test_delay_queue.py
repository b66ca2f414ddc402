"""Records leave a partition in order, none early, and a burst is spread over time."""

from bisect import bisect_right
from collections import Counter
from collections.abc import Sequence
from itertools import accumulate

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.data.retry.decide import DelayedRecord, OutputRecord
from pipelines.data.retry.delay_queue import MAX_BYTES, MAX_RECORDS, MAX_WRITE_RECORDS, DelayQueue
from pipelines.data.retry.drain_rate import INTERVAL_MS, MIN_RECORDS, DrainRate, next_interval, reset
from shared.contracts.retry_times import delay_ms
from shared.contracts.topics import Topic

TOPIC = Topic.RETRY_IN_30S
DELAY_MS = delay_ms(TOPIC)
SPREAD = 0.5
STEP_MS = 100
_OUTPUT = OutputRecord(Topic.RETRY_OUT, None, None, [])


def held(offset: int, due_ms: int, size: int = 0) -> DelayedRecord:
    return DelayedRecord(offset, due_ms, _OUTPUT, size)


def left_at(
    records: Sequence[tuple[int, int]], topic: Topic = TOPIC, spread: float = SPREAD
) -> list[tuple[int, int]]:
    """(offset, time) at which retry would release each of (written, due) records."""
    written = [at for at, _ in records]
    queue, now, read, left = DelayQueue(topic, spread), 0, 0, list[tuple[int, int]]()
    while len(left) < len(records):
        there = bisect_right(written, now)
        while read < there and not queue.full:
            queue.add(held(read, records[read][1]))
            read += 1
        while run := queue.due(now, there - len(left)):
            left += [(one.offset, now) for one in run]
            queue.remove_first(len(run))
        now += STEP_MS
    return left


def most_a_second(left: list[tuple[int, int]]) -> int:
    return max(Counter(at // 1000 for _, at in left).values())


written_and_due = st.lists(
    st.tuples(st.integers(0, 500), st.integers(0, DELAY_MS)), min_size=1, max_size=60
).map(
    lambda steps: [
        (w, w + wait) for w, (_, wait) in zip(accumulate(step for step, _ in steps), steps, strict=True)
    ]
)


@given(written_and_due)
def test_all_leave_once_in_order_none_early_and_none_later_than_its_topics_delay(
    records: list[tuple[int, int]],
) -> None:
    left = left_at(records)
    assert [offset for offset, _ in left] == list(range(len(records)))
    for offset, at in left:
        written, due = records[offset]
        assert due <= at <= written + DELAY_MS + STEP_MS  # too few to need spreading


@given(st.integers(1, 200_000), st.floats(0, 1), st.integers(1, 50))
def test_waiting_records_have_left_when_a_span_is_over(waiting: int, spread: float, growth: int) -> None:
    """The rate never falls while records are due, whatever comes after them."""
    span_ms, now, drain, ahead = spread * DELAY_MS, 0, DrainRate(), waiting
    while ahead > 0:
        drain = next_interval(drain, ahead + growth, span_ms, now)
        ahead -= drain.left
        drain = drain.spend(drain.left)
        now += INTERVAL_MS
    assert now <= span_ms + 2 * INTERVAL_MS


def test_a_second_call_in_an_interval_gives_no_more() -> None:
    drain = next_interval(DrainRate(), 10, 1000, 50).spend(MIN_RECORDS)
    assert next_interval(drain, 10**6, 1000, 50 + INTERVAL_MS - 1).left == 0
    assert next_interval(reset(drain), 10, 1000, 50 + INTERVAL_MS).left == MIN_RECORDS


def test_a_clock_that_is_set_back_does_not_stop_the_queue() -> None:
    drain = next_interval(DrainRate(), 10, 1000, 10**12).spend(MIN_RECORDS)
    assert next_interval(drain, 10, 1000, 5).left == MIN_RECORDS


def test_ten_minutes_of_failures_come_back_as_slowly_as_they_came() -> None:
    """200 events a second, in requests of 100: each gets its second try five minutes after the first."""
    records = [(at, at + 300_000) for at in range(0, 600_000, 500) for _ in range(100)]
    left = left_at(records, Topic.RETRY_IN_5M)
    assert len(left) == 120_000
    assert most_a_second(left) <= 2 * 200 + MIN_RECORDS
    assert max(at - records[offset][1] for offset, at in left) <= 3_000


@pytest.mark.parametrize("count", [160, pytest.param(300, marks=pytest.mark.proof)])
def test_a_backlog_that_is_due_at_one_moment_is_spread(count: int) -> None:
    """A destination named a moment in Retry-After: all failures of ten minutes are due then."""
    moment = 300_000
    records = [(at, moment) for at in range(0, 270_000, 500) for _ in range(count)]
    left = left_at(records, Topic.RETRY_IN_5M)
    span_seconds = SPREAD * 300
    assert most_a_second(left) <= len(records) / span_seconds + 1
    assert left[-1][1] <= moment + span_seconds * 1000 + 2 * INTERVAL_MS
    at_once = left_at(records, Topic.RETRY_IN_5M, spread=0)
    assert most_a_second(at_once) > 20 * most_a_second(left), "what is avoided"


def test_at_most_one_write_batch_awaits_its_acknowledgement() -> None:
    queue = DelayQueue(TOPIC, 0)
    for offset in range(MAX_WRITE_RECORDS + 1):
        queue.add(held(offset, 0))
    assert len(queue.due(1, MAX_WRITE_RECORDS + 1)) == MAX_WRITE_RECORDS
    assert len(queue.due(1, MAX_WRITE_RECORDS + 1)) == MAX_WRITE_RECORDS, (
        "what was not acknowledged is given again"
    )
    queue.remove_first(MAX_WRITE_RECORDS)
    assert [one.offset for one in queue.due(1, 1)] == [MAX_WRITE_RECORDS]


@pytest.mark.parametrize("size", [0, 1000, MAX_BYTES])
def test_memory_is_bounded_in_records_and_in_bytes(size: int) -> None:
    queue, taken = DelayQueue(TOPIC, SPREAD), 0
    while not queue.full:
        queue.add(held(taken, 0, size))
        taken += 1
    assert taken <= MAX_RECORDS
    assert (taken - 1) * size < MAX_BYTES
    while not queue.low:
        queue.due(0, 10**9)
        queue.remove_first(1)
    assert not queue.full


def test_it_wakes_when_the_first_is_due_then_at_each_interval_and_never_without_records() -> None:
    queue = DelayQueue(TOPIC, SPREAD)
    assert queue.wake_ms(0) is None
    for offset in range(MIN_RECORDS + 1):
        queue.add(held(offset, 5_000))
    assert queue.due(4_999, MIN_RECORDS + 1) == []
    assert queue.wake_ms(4_999) == 5_000
    queue.remove_first(len(queue.due(5_000, MIN_RECORDS + 1)))
    assert (len(queue), queue.wake_ms(5_000)) == (1, 5_000 + INTERVAL_MS)
    assert queue.due(5_000, 1) == []


def test_records_with_a_time_of_a_clock_that_was_ahead_leave_once_it_is_set_back() -> None:
    queue, ahead = DelayQueue(TOPIC, SPREAD), 6 * 3_600_000
    for offset in range(2):
        queue.add(held(offset, ahead + DELAY_MS))
    assert queue.due(ahead, 2) == []
    assert queue.due(ahead + DELAY_MS - 1, 2) == []
    assert [record.offset for record in queue.due(STEP_MS, 2)] == [0, 1]
    assert queue.wake_ms(STEP_MS) == STEP_MS
