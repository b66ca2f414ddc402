"""A node has finished its input only once audit has read its output."""

from collections.abc import Mapping

from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.health.staleness import Staleness
from pipelines.control.observe.ledger.watermarks import (
    WRITING,
    OffsetsSnapshot,
    Watermark,
    Watermarks,
    thinned,
)
from shared.contracts.topics import Topic

SETTLE_MS = 180_000
COLLECTED, EVENTS, OUTBOUND = ("collected", 0), ("events", 0), ("outbound", 0)
SLOW, RECEIPTS, WAITING = ("outbound_slow", 0), ("receipts", 0), ("retry_in.5m", 0)


def look(
    at_ms: int,
    committed: Mapping[str, Mapping[tuple[str, int], int]],
    ends: Mapping[tuple[str, int], int],
    covered: Mapping[tuple[str, int], int],
) -> OffsetsSnapshot:
    return OffsetsSnapshot(at_ms, committed, ends, covered)


def passed(passing: Watermarks, node: str) -> list[tuple[int, int]]:
    """Time and the only offset of each mark that is not empty."""
    return [(mark.at_ms, max(mark.offsets.values())) for mark in passing.marks[node] if mark.offsets]


def test_a_node_is_done_once_audit_has_read_what_it_wrote_until_then() -> None:
    passing = Watermarks(SETTLE_MS)
    ends = {COLLECTED: 10, EVENTS: 7}
    passing.take(look(1, {"ingest": {COLLECTED: 5}}, ends, {EVENTS: 6}))
    assert passed(passing, "ingest") == []
    passing.take(look(2, {"ingest": {COLLECTED: 9}}, ends | {EVENTS: 12}, {EVENTS: 7}))
    assert passed(passing, "ingest") == [(2, 5)], "audit has not seen the outcome of what it read later"
    passing.take(look(3, {"ingest": {COLLECTED: 9}}, ends | {EVENTS: 14}, {EVENTS: 12}))
    assert passed(passing, "ingest") == [(2, 5), (3, 9)]


def test_transmit_is_done_once_the_slow_lane_is() -> None:
    passing = Watermarks(SETTLE_MS)
    read = {"transmit": {OUTBOUND: 5}, "transmit_slow": {SLOW: 1}}
    ends, covered = {OUTBOUND: 5, SLOW: 2, RECEIPTS: 3}, {RECEIPTS: 3}
    passing.take(look(1, read, ends, covered))
    assert passed(passing, "transmit") == []
    passing.take(look(2, read | {"transmit_slow": {SLOW: 2}}, ends | {RECEIPTS: 4}, covered))
    assert passed(passing, "transmit") == [], "the slow lane's receipt is not tallied"
    passing.take(look(3, read | {"transmit_slow": {SLOW: 2}}, ends | {RECEIPTS: 4}, {RECEIPTS: 4}))
    assert passed(passing, "transmit") == [(3, 5)]


def test_records_beside_a_receipt_are_missing_only_after_the_batch() -> None:
    passing = Watermarks(SETTLE_MS)
    ends = {OUTBOUND: 5, RECEIPTS: 3, WAITING: 0}
    passing.take(look(1, {"transmit": {OUTBOUND: 4}}, ends, {RECEIPTS: 3}))
    assert passed(passing, WRITING) == []
    later = ends | {WAITING: 1}
    passing.take(look(2, {"transmit": {OUTBOUND: 5}}, later, {RECEIPTS: 3}))
    assert passed(passing, WRITING) == []
    passing.take(look(3, {"transmit": {OUTBOUND: 5}}, later, {RECEIPTS: 3, WAITING: 1}))
    assert passed(passing, WRITING) == [(3, 3)]


def test_a_node_that_never_said_how_far_it_is_is_done_with_nothing() -> None:
    passing = Watermarks(SETTLE_MS)
    for at_ms in range(3):
        passing.take(look(at_ms, {}, {COLLECTED: 3, EVENTS: 0}, {COLLECTED: 3}))
    assert passed(passing, "ingest") == []


@given(st.lists(st.integers(1, 10_000), max_size=300), st.integers(0, 400_000))
def test_thinning_keeps_the_newest_settled_mark_and_the_newest_of_all(gaps: list[int], settled: int) -> None:
    marks, at_ms = [], 0
    for gap in gaps:
        at_ms += gap
        marks.append(Watermark(at_ms, {COLLECTED: at_ms}))
    kept = thinned(marks, settled)
    old = [mark for mark in marks if mark.at_ms <= settled]
    assert [mark for mark in kept if mark.at_ms <= settled] == old[-1:]
    assert kept[-1:] == marks[-1:]
    assert kept == sorted(kept, key=lambda mark: mark.at_ms)
    assert len(kept) <= 65


def test_behind_is_the_age_of_the_oldest_record_that_is_not_read() -> None:
    behind = Staleness(0)
    behind.take(look(10_000, {}, {EVENTS: 5}, {EVENTS: 3}), {EVENTS: 4_000})
    assert behind.seconds(11_000, 60_000) == 7.0, "from before the first look, by its own time"
    behind.take(look(20_000, {}, {EVENTS: 9}, {EVENTS: 5}), {})
    assert behind.seconds(21_000, 60_000) == 1.0
    behind.take(look(30_000, {}, {EVENTS: 12}, {EVENTS: 5}), {})
    assert behind.seconds(31_000, 60_000) == 11.0, "audit makes no progress"
    behind.take(look(40_000, {}, {EVENTS: 12}, {EVENTS: 9}), {})
    assert behind.seconds(41_000, 60_000) == 11.0, "the records of the second interval"
    behind.take(look(50_000, {}, {EVENTS: 12}, {EVENTS: 12}), {})
    assert behind.seconds(51_000, 60_000) == 0.0


def test_an_idle_side_is_not_behind_when_an_event_comes_after_hours() -> None:
    behind = Staleness(0)
    behind.take(look(0, {}, {EVENTS: 5}, {EVENTS: 5}), {})
    behind.take(look(7_200_000, {}, {EVENTS: 6}, {EVENTS: 5}), {})
    assert behind.seconds(7_201_000, 60_000) == 1.0


def test_brokers_that_do_not_answer_leave_the_meter_behind() -> None:
    behind = Staleness(0)
    behind.take(look(0, {}, {EVENTS: 5}, {EVENTS: 5}), {})
    assert behind.seconds(20_000, 60_000) == 0.0
    assert behind.seconds(90_000, 60_000) == 90.0


def test_brokers_that_have_not_answered_since_the_start_leave_the_meter_behind() -> None:
    behind = Staleness(10_000)
    assert behind.seconds(30_000, 60_000) == 20.0
    assert behind.seconds(100_000, 60_000) == 90.0


def test_until_the_first_look_the_meter_is_behind_since_the_one_before_it_had_read_everything() -> None:
    behind = Staleness(7_210_000)
    behind.resume(10_000)
    assert behind.seconds(7_220_000, 60_000) == 7_210.0
    behind.take(look(7_230_000, {}, {EVENTS: 5}, {EVENTS: 5}), {})
    assert behind.seconds(7_231_000, 60_000) == 0.0


def test_a_meter_that_knows_of_none_before_it_is_behind_since_its_own_start() -> None:
    behind = Staleness(10_000)
    behind.resume(0)
    assert behind.seconds(30_000, 60_000) == 20.0


def test_the_slow_lanes_topic_is_not_audits_to_read() -> None:
    behind = Staleness(0)
    behind.take(look(0, {}, {(Topic.OUTBOUND_SLOW.value, 0): 5}, {}), {})
    assert behind.seconds(50_000, 60_000) == 0.0


def test_long_delay_keeps_the_oldest_sample() -> None:
    behind = Staleness(0)
    for turn in range(1_000):
        behind.take(look(turn * 5_000, {}, {EVENTS: turn + 1}, {}), {})
    assert behind.seconds(5_000_000, 60_000) == 5_000.0


def test_a_partition_that_was_read_further_than_it_goes_is_of_a_recreated_topic() -> None:
    ends = {COLLECTED: 5, EVENTS: 5, RECEIPTS: 0}
    assert look(0, {}, ends, {COLLECTED: 5, EVENTS: 6, RECEIPTS: 9, OUTBOUND: 7}).recreated == [
        EVENTS,
        RECEIPTS,
    ]


def test_offsets_of_before_a_topic_was_recreated_hold_nothing_up_and_prove_nothing() -> None:
    passing = Watermarks(SETTLE_MS)
    before = {COLLECTED: 900, EVENTS: 800}
    passing.take(look(1, {"ingest": {COLLECTED: 900}}, before, before))
    passing.take(look(2, {"ingest": {COLLECTED: 950}}, before | {EVENTS: 850}, before))
    passing.restart()
    assert passed(passing, "ingest") == []
    assert passing.read_to_ms == 1
    after = {COLLECTED: 960, EVENTS: 4}
    passing.take(look(3, {"ingest": {COLLECTED: 960}}, after, after))
    assert passed(passing, "ingest") == [(3, 960)]
    assert passing.read_to_ms == 3


def test_a_recreated_topic_is_behind_until_its_own_records_are_read() -> None:
    behind = Staleness(0)
    behind.take(look(0, {}, {EVENTS: 900}, {EVENTS: 800}), {EVENTS: 0})
    behind.take(look(10_000, {}, {EVENTS: 4}, {}), {})
    assert behind.seconds(12_000, 60_000) == 2.0
    behind.take(look(20_000, {}, {EVENTS: 4}, {EVENTS: 4}), {})
    assert behind.seconds(21_000, 60_000) == 0.0
