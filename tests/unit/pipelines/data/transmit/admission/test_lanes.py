"""When a destination leaves the fast lane, and when it returns."""

from pipelines.data.transmit.admission.lanes import (
    LaneState,
    LaneThresholds,
    after_request,
    looked_at,
    probe_begun,
    probe_due,
    probe_ended,
    recovered,
    slowed,
)

RULES = LaneThresholds(slow=0.4, quick=0.2, stay=10.0, stay_limit=25.0)


def after(pace: LaneState, times: int, seconds: float, now_ms: int = 1_000) -> LaneState:
    for _ in range(times):
        pace = after_request(pace, seconds, now_ms, RULES)
    return pace


def test_one_slow_answer_is_forgiven_and_a_string_of_them_is_not() -> None:
    assert after(LaneState(), 1, 0.7).lane == "fast"
    assert after(LaneState(), 4, 0.7).lane == "slow"


def test_a_destination_that_is_just_fast_enough_stays_in_the_fast_lane() -> None:
    assert after(LaneState(), 1_000, 0.39).lane == "fast"


def test_it_is_quick_again_after_five_quick_requests_in_a_row() -> None:
    slow = LaneState(lane="slow")
    assert after(slow, 4, 0.1).lane == "slow"
    assert after(after(after(slow, 4, 0.1), 1, 0.3), 4, 0.1).lane == "slow"
    assert after(slow, 5, 0.1).lane == "fast"


def test_news_that_is_older_than_the_stay_is_ignored() -> None:
    slow = slowed(LaneState(), 50_000, RULES)
    assert recovered(slow, 49_000) == slow
    assert recovered(slow, 59_999) == slow
    assert recovered(slow, 60_000).lane == "fast"


def test_a_move_that_a_clock_noted_that_was_ahead_counts_as_made_when_it_is_looked_at() -> None:
    moved = slowed(LaneState(), 3_650_000, RULES)
    seen = looked_at(moved, 50_000)
    assert recovered(seen, 59_999) == seen
    assert recovered(seen, 60_000).lane == "fast"
    assert not probe_due(seen, 349_999, RULES)
    assert probe_due(seen, 350_000, RULES)
    assert looked_at(seen, 60_000) == seen


def test_each_relapse_doubles_the_stay_and_a_long_good_time_forgives() -> None:
    pace, now, stays = LaneState(), 0, []
    for _ in range(4):
        pace = slowed(pace, now + 1_000, RULES)
        stays.append(pace.stay)
        now += 1_000 + int(pace.stay * 1000)
        pace = recovered(pace, now)
    assert stays == [10.0, 20.0, 25.0, 25.0]
    assert slowed(pace, now + 50_000, RULES).stay == 10.0


def test_a_late_answer_restarts_the_count_of_quick_ones() -> None:
    assert slowed(after(LaneState(lane="slow"), 4, 0.1), 0, RULES).quick == 0


def due(pace: LaneState) -> int:
    """Milliseconds from a move to the first moment at which the fast lane may try a request."""
    return next(at for at in range(0, 7_200_000, 1_000) if probe_due(pace, pace.since_ms + at, RULES))


def test_without_news_a_request_is_tried_after_minutes_and_more_rarely_each_time_that_it_is_slow() -> None:
    pace, waits = slowed(LaneState(), 50_000, RULES), []
    for _ in range(3):
        waits.append(due(pace))
        pace = slowed(probe_begun(pace), pace.since_ms + waits[-1], RULES)
        assert (pace.lane, pace.probing) == ("slow", False)
    assert waits == [300_000, 600_000, 750_000], "30 times the stay, which has a limit"
    assert due(LaneState(lane="slow", stay=600.0)) == 3_600_000


def test_a_request_that_was_tried_decides_alone_and_one_that_showed_nothing_does_not_count() -> None:
    slow = slowed(LaneState(), 0, RULES)
    tried = probe_begun(slow)
    assert not probe_due(tried, 900_000, RULES), "another one is under way"
    assert after(tried, 1, 0.39, 300_000) == LaneState(since_ms=300_000, stay=10.0)
    assert after(tried, 1, 0.41, 300_000) == LaneState(lane="slow", since_ms=300_000, stay=20.0)
    assert probe_ended(tried) == slow


def test_news_during_such_a_request_and_a_relapse_after_it_count_as_ever() -> None:
    tried = probe_begun(slowed(LaneState(), 0, RULES))
    assert recovered(tried, 300_000) == LaneState(since_ms=300_000, stay=10.0)
    back = after(tried, 1, 0.1, 300_000)
    assert slowed(back, 301_000, RULES).stay == 20.0


def test_a_destination_in_the_fast_lane_is_not_tried() -> None:
    assert not probe_due(LaneState(stay=10.0), 10_000_000, RULES)
