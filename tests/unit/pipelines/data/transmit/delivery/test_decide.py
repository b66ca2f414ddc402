"""The outcome of an event after a try."""

from dataclasses import replace
from datetime import UTC, datetime, timedelta
from email.utils import format_datetime

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.ledger.fault_attribution import customer_remedy
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.delivery.decide import (
    Dead,
    Delivered,
    Outcome,
    Policy,
    RetryLater,
    RetryNow,
    Situation,
    SlowLane,
    Split,
    decide,
)
from pipelines.data.transmit.retry_after import retry_after_seconds
from shared.contracts.topics import RETRY_DELAYS, Topic

NOW = 1_800_000_000_000
HOUR_MS = 3_600_000
POLICY = Policy(local_tries=3, pause=0.05, pause_limit=1.0, give_up=timedelta(hours=24))


def at(**changes: float) -> Situation:
    """One event's first try, with ten seconds left."""
    usual = {
        "events": 1,
        "tries": 1,
        "attempt": 1,
        "first_try_ms": NOW,
        "now_ms": NOW,
        "seconds_left": 10.0,
    }
    return Situation(**{**usual, **changes})  # type: ignore[arg-type]


def outcome(answer: Answer, **changes: float) -> Outcome:
    return decide(answer, at(**changes), POLICY, 0.5)


@pytest.mark.parametrize(
    ("status", "kind"),
    [
        (200, Delivered),
        (201, Delivered),
        (202, Delivered),
        (204, Delivered),
        (299, Delivered),
        (300, Dead),
        (301, Dead),
        (302, Dead),
        (304, Dead),
        (307, Dead),
        (308, Dead),
        (400, Dead),
        (401, Dead),
        (403, Dead),
        (404, Dead),
        (405, Dead),
        (410, Dead),
        (413, Dead),
        (499, Dead),
        (408, RetryNow),
        (429, RetryLater),
        (500, RetryNow),
        (501, RetryNow),
        (502, RetryNow),
        (503, RetryNow),
        (504, RetryNow),
        (599, RetryNow),
        (100, RetryNow),
        (0, RetryNow),
        (999, RetryNow),
    ],
)
def test_status_decides_the_first_try(status: int, kind: type) -> None:
    assert isinstance(outcome(Answer(status=status)), kind)


def test_no_answer_is_tried_again_and_then_left_for_later() -> None:
    answer = Answer(error="timeout: no answer")
    assert isinstance(outcome(answer, tries=2), RetryNow)
    assert outcome(answer, tries=3) == RetryLater(Topic.RETRY_IN_30S, NOW + 30_000, 1, "timeout: no answer")


def test_hopeless_try_is_dead_at_once() -> None:
    assert outcome(Answer(error="bad_url: no host", hopeless=True)) == Dead("bad_url: no host")


def test_too_large_a_request_is_split_until_one_event_is_left() -> None:
    assert outcome(Answer(status=413), events=2, tries=3, seconds_left=0.1) == Split()
    assert isinstance(outcome(Answer(status=413), events=1), Dead)


@pytest.mark.parametrize(
    ("attempt", "topic"),
    [
        (1, Topic.RETRY_IN_30S),
        (2, Topic.RETRY_IN_5M),
        (3, Topic.RETRY_IN_1H),
        (4, Topic.RETRY_IN_1H),
        (25, Topic.RETRY_IN_1H),
    ],
)
def test_each_attempt_waits_longer(attempt: int, topic: Topic) -> None:
    found = outcome(Answer(status=500), tries=3, attempt=attempt)
    assert isinstance(found, RetryLater)
    assert found.topic == topic
    assert found.not_before_ms == NOW + RETRY_DELAYS[topic] / timedelta(milliseconds=1)


@pytest.mark.parametrize("attempt", [1, 2, 3])
def test_events_held_back_by_a_new_breaker_wait_shortly_and_lose_no_attempt(attempt: int) -> None:
    found = outcome(Answer(error="breaker_open: 'p1'"), tries=0, attempt=attempt, closed=False, counted=False)
    assert isinstance(found, RetryLater)
    assert (found.topic, found.attempts) == (Topic.RETRY_IN_30S, attempt - 1)


@pytest.mark.parametrize("attempt", [1, 2, 3])
@pytest.mark.parametrize(("tries", "attempts"), [(1, 0), (2, 1)])
def test_a_try_that_was_cut_short_is_an_attempt_only_after_a_whole_one(
    attempt: int, tries: int, attempts: int
) -> None:
    silence = Answer(error="timeout: no answer within 2.0 s", cut_short=True)
    found = outcome(silence, tries=tries, attempt=attempt, seconds_left=0.0)
    assert isinstance(found, RetryLater)
    assert found.attempts == attempt - 1 + attempts
    assert (found.topic == Topic.RETRY_IN_30S) == (attempts == 0 or attempt == 1)


def test_event_is_given_up_when_the_next_try_would_be_a_day_after_the_first() -> None:
    last = outcome(Answer(status=500), tries=3, attempt=24, first_try_ms=NOW - 23 * HOUR_MS)
    assert isinstance(last, RetryLater)
    over = outcome(Answer(status=500), tries=3, attempt=25, first_try_ms=NOW - 23 * HOUR_MS - 1)
    assert over == Dead(
        "time_over: not delivered within 24 h; last answer: failed: the destination answered 500"
    )


def test_an_event_that_hifis_own_defect_held_for_a_day_is_not_charged_to_the_customer() -> None:
    over = outcome(
        Answer(error="internal: KeyError"), tries=3, attempt=25, first_try_ms=NOW - 23 * HOUR_MS - 1
    )
    assert over == Dead("internal: not delivered within 24 h; last answer: internal: KeyError")
    assert customer_remedy("- internal") is None


@pytest.mark.parametrize(
    ("asked", "topic", "wait_seconds"),
    [
        ("2", Topic.RETRY_IN_30S, 30),
        ("30", Topic.RETRY_IN_30S, 30),
        ("31", Topic.RETRY_IN_5M, 31),
        ("301", Topic.RETRY_IN_1H, 301),
        ("999999999999", Topic.RETRY_IN_1H, 3600),
    ],
)
def test_retry_after_is_honoured_and_capped(asked: str, topic: Topic, wait_seconds: int) -> None:
    found = outcome(Answer(status=503, retry_after=asked))
    assert isinstance(found, RetryLater)
    assert (found.topic, found.not_before_ms) == (topic, NOW + wait_seconds * 1000)


def test_short_retry_after_is_waited_for_here() -> None:
    assert outcome(Answer(status=429, retry_after="1")) == RetryNow(1.0)


FAST = replace(POLICY, lane="fast")
THROTTLED = Answer(status=429, retry_after="1")


def test_a_short_pause_for_which_the_fast_lane_has_no_time_is_left_to_the_slow_lane() -> None:
    """It has one second for all local tries together."""
    assert decide(THROTTLED, at(seconds_left=1.0), FAST, 0.5) == SlowLane(NOW + 1000)
    assert decide(THROTTLED, at(seconds_left=9.0), POLICY, 0.5) == RetryNow(1.0)


@pytest.mark.parametrize(
    ("answer", "changes"),
    [
        (Answer(status=429, retry_after="2"), {}),
        (Answer(status=429), {}),
        (Answer(status=503), {}),
        (THROTTLED, {"tries": 3}),
        (THROTTLED, {"closed": False}),
    ],
    ids=["a longer pause", "no pause for a 429", "no pause", "the last local try", "an open breaker"],
)
def test_the_fast_lane_leaves_everything_else_to_the_retry_topics(
    answer: Answer, changes: dict[str, float]
) -> None:
    found = decide(answer, at(seconds_left=0.01, **changes), FAST, 0.5)
    assert isinstance(found, RetryLater)
    assert found.topic == Topic.RETRY_IN_30S


def test_the_slow_lane_has_no_other_lane_to_leave_a_pause_to() -> None:
    assert isinstance(decide(THROTTLED, at(seconds_left=1.0), POLICY, 0.5), RetryLater)


def test_nothing_is_tried_again_past_the_deadline() -> None:
    assert isinstance(outcome(Answer(status=500), seconds_left=0.01), RetryLater)


@pytest.mark.parametrize(
    ("value", "seconds"),
    [
        ("0", 0.0),
        (" 12 ", 12.0),
        ("", None),
        (None, None),
        ("soon", None),
        ("-5", None),
        ("1.5", None),
        ("²", None),
        ("9" * 5000, 1e9),
        (format_datetime(datetime.fromtimestamp(NOW / 1000 + 90, UTC), usegmt=True), 90.0),
        ("Wed, 21 Oct 2015 07:28:00 GMT", 0.0),
        ("Wed, 99 Foo 2015", None),
    ],
)
def test_retry_after_is_read_as_seconds_or_date(value: str | None, seconds: float | None) -> None:
    assert retry_after_seconds(value, NOW) == seconds


answers = st.builds(
    Answer,
    status=st.none() | st.integers(0, 999),
    error=st.just("reset: gone"),
    retry_after=st.none() | st.integers(0, 10**12).map(str) | st.text(max_size=40),
    hopeless=st.booleans(),
)
situations = st.builds(
    Situation,
    events=st.integers(1, 10_000),
    tries=st.integers(1, 20),
    attempt=st.integers(1, 1000),
    first_try_ms=st.integers(NOW - 48 * HOUR_MS, NOW),
    now_ms=st.just(NOW),
    seconds_left=st.floats(0, 10),
)
jitters = st.floats(0, 1, exclude_max=True)


@given(answers, situations, jitters)
def test_laws(answer: Answer, where: Situation, jitter: float) -> None:
    found = decide(answer, where, POLICY, jitter)
    success = answer.status is not None and 200 <= answer.status < 300
    assert isinstance(found, Delivered) == success  # no other status counts as delivered
    if isinstance(found, RetryNow):
        assert 0 <= found.pause < where.seconds_left
        assert found.pause <= POLICY.pause_limit
        assert where.tries < POLICY.local_tries
    if isinstance(found, Split):
        assert where.events > 1
    if isinstance(found, RetryLater):
        wait = timedelta(milliseconds=found.not_before_ms - NOW)
        assert timedelta(seconds=30) <= wait <= RETRY_DELAYS[found.topic]
        assert timedelta(milliseconds=found.not_before_ms - where.first_try_ms) <= POLICY.give_up
    if isinstance(found, RetryLater | Dead):
        assert found.reason.partition(": ")[2]


@given(answers, st.integers(1, 5), jitters)
def test_every_event_comes_to_an_end(answer: Answer, events: int, jitter: float) -> None:
    """However a destination behaves, local tries end, and so does splitting."""
    size, tries = events, 1
    for _ in range(50):
        found = decide(answer, at(events=size, tries=tries), POLICY, jitter)
        if isinstance(found, Split):
            size = (size + 1) // 2
        elif isinstance(found, RetryNow):
            tries += 1
        else:
            return
    raise AssertionError("no end")
