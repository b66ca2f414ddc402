"""After records expired uncounted, minutes of that age prove nothing; younger ones prove everything."""

from datetime import timedelta

import pytest

from pipelines.control.observe.scorecards.ledger_state import LedgerState
from pipelines.control.observe.scorecards.minute_cards import JudgedMinute, minute_card
from pipelines.control.observe.verdicts.event_identification import read_plan
from pipelines.control.observe.verdicts.verdicts import Judgement, judge
from shared.contracts.ledger import Range, Stage
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topics import Topic, retention
from tests.unit.pipelines.control.observe.judged import applied, wrong
from tests.unit.pipelines.control.observe.scorecards.test_ledger_state import restarted
from tests.unit.pipelines.control.observe.world import (
    LATER,
    MINUTE,
    MINUTE_START,
    SETTLE,
    TENANT,
    World,
)

DAY_MS = int(timedelta(days=1).total_seconds() * 1_000)
KEPT_MS = 3 * DAY_MS
PLACE = (Topic.RECEIPTS.value, 0)
BEFORE_MS = MINUTE_START - 60_000
"""Time at which the last receipt was counted before audit stopped."""


def receipts(start: int, end: int, newest_ms: int) -> Range:
    return Range(topic=Topic.RECEIPTS, partition=0, start=start, end=end, newest_ms=newest_ms, tallies=[])


def counted() -> LedgerState:
    """The receipts of a partition are counted up to its tenth."""
    return applied([receipts(0, 10, BEFORE_MS)])


def away_for(days: float) -> LedgerState:
    """audit continues after some days, and its next record does not follow the last one."""
    now_ms = MINUTE_START + int(days * DAY_MS)
    return applied([receipts(50, 60, now_ms - KEPT_MS)], counted(), 1, now_ms)


def test_a_range_that_begins_behind_the_last_one_says_how_old_the_records_are_that_were_not_counted(
    caplog: pytest.LogCaptureFixture,
) -> None:
    book = away_for(5)
    assert book.expired.to_ms == MINUTE_START + 2 * DAY_MS
    applied([receipts(60, 70, MINUTE_START + 5 * DAY_MS)], book, 2, MINUTE_START + 9 * DAY_MS)
    assert book.expired.to_ms == MINUTE_START + 2 * DAY_MS
    (record,) = caplog.records
    found = [record.__dict__[name] for name in ("levelname", "topic", "partition", "start", "end")]
    assert found == ["ERROR", "receipts", 0, 10, 50]
    assert restarted(book, book.position).expired.to_ms == book.expired.to_ms


def test_a_gap_in_what_no_retention_can_have_deleted_changes_nothing(
    caplog: pytest.LogCaptureFixture,
) -> None:
    assert away_for(2.9).expired.to_ms == 0
    assert caplog.records == []


def test_a_gap_that_is_found_later_is_no_later_than_the_records_behind_it() -> None:
    book = counted()
    applied([receipts(50, 60, MINUTE_START + DAY_MS)], book, 1, MINUTE_START + 9 * DAY_MS)
    assert book.expired.to_ms == MINUTE_START + DAY_MS


def test_records_that_expire_while_audit_is_away_are_noted_as_they_go(
    caplog: pytest.LogCaptureFixture,
) -> None:
    book = counted()
    for days, begin in ((4, 20), (5, 40), (6, 40)):
        book.note_expired({PLACE: begin}, MINUTE_START + days * DAY_MS)
    assert book.expired.to_ms == MINUTE_START + 2 * DAY_MS, "after that nothing more expired"
    assert len(caplog.records) == 1
    applied([receipts(40, 60, MINUTE_START + 6 * DAY_MS)], book, 1, MINUTE_START + 9 * DAY_MS)
    assert book.expired.to_ms == MINUTE_START + 2 * DAY_MS


def test_a_recreated_topic_a_restart_and_ranges_that_come_again_are_no_gap() -> None:
    ranges = [receipts(0, 10, 1), receipts(10, 20, 2), receipts(0, 10, 1), receipts(10, 20, 2)]
    late_ms = MINUTE_START + 30 * DAY_MS
    book = applied(ranges, now_ms=late_ms)
    again = applied(ranges[3:], restarted(book, book.position), 4, late_ms)
    again.restart(PLACE)
    applied([receipts(30, 40, late_ms)], again, 5, late_ms)  # its earlier records have expired, too
    assert again.expired.to_ms == 0


def test_topics_are_kept_for_three_days_or_for_fourteen() -> None:
    assert retention(Topic.RECEIPTS) == timedelta(days=3)
    assert retention(Topic.DEAD_LETTER) == timedelta(days=14)
    assert retention(Topic.CONFIG) is None


def unreceipted() -> World:
    """The receipts of a delivered retry and of a dead letter expired; the other records did not."""
    outcomes = {"a": "retried", "b": "dead"}
    world = World().send(["a", "b", "c"], outcomes=lambda i, _: outcomes.get(i, "delivered"))
    gone = {("a", Stage.DELIVERED), ("b", Stage.DEAD)}
    for place, records in world.topics.items():
        if place[0] == Topic.RECEIPTS:
            world.topics[place] = [[e for e in events if (e.id, e.stage) not in gone] for events in records]
    return world


def judged(book: LedgerState, world: World, expired_to_ms: int) -> tuple[Judgement, MinuteCard]:
    state, passed = book.minutes[TENANT, MINUTE], world.passed()
    passed = type(passed)(marks=passed.marks, read_to_ms=passed.read_to_ms, expired_to_ms=expired_to_ms)
    judgement = judge(state, passed, LATER, SETTLE)
    return judgement, minute_card(*JudgedMinute(state, judgement))


def test_nothing_is_lost_or_doubled_in_a_minute_of_which_records_may_have_expired() -> None:
    world = unreceipted()
    book = applied(world.ranges())
    judgement, card = judged(book, world, MINUTE_START)
    assert wrong(card) == {}
    assert (card.lost, card.doubled, card.settled) == (0, 0, True)
    assert "expired before the meter counted them" in " ".join(card.why)
    assert judgement.final, "it leaves memory"
    assert read_plan(book.minutes[TENANT, MINUTE], judgement) is None, "no record is read for it"


def test_losses_of_younger_minutes_are_proven_as_ever() -> None:
    world = unreceipted()
    _, card = judged(applied(world.ranges()), world, MINUTE_START - 2 * 60_000)
    assert (card.lost, wrong(card)) == (2, {("transmit", "p1"): (2, 1)})
    assert "expired" not in " ".join(card.why)


def test_what_was_proven_before_stays() -> None:
    world = unreceipted()
    book = applied(world.ranges())
    before, _ = judged(book, world, 0)
    book.note(before)
    judgement, card = judged(book, world, MINUTE_START)
    assert (card.lost, wrong(card)) == (2, {("transmit", "p1"): (2, 1)})
    assert judgement.final


def test_a_minute_in_which_nothing_is_missing_is_judged_as_ever() -> None:
    world = World().send(["a", "b"])
    judgement, card = judged(applied(world.ranges()), world, MINUTE_START)
    assert (judgement.final, card.delivered, card.why) == (True, 2, [])
