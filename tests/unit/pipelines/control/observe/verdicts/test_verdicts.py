"""Missing events are lost only once they can no longer arrive; doubles are certain."""

import pytest

from pipelines.control.observe.ledger.watermarks import WRITING, Watermark
from pipelines.control.observe.scorecards.ledger_state import LedgerState
from pipelines.control.observe.scorecards.minute_cards import minute_card
from pipelines.control.observe.verdicts.verdicts import ReadProgress, judge
from shared.contracts.event_hash import id_hash
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topics import Topic
from tests.unit.pipelines.control.observe.judged import applied, card_of, hop, settled, wrong
from tests.unit.pipelines.control.observe.world import (
    LATER,
    MINUTE,
    MINUTE_START,
    SETTLE,
    TENANT,
    Event,
    World,
)

NODES = ("ingest", "route", "transmit", WRITING, "retry")


def seen_at(world: World, passed: ReadProgress, now_ms: int) -> MinuteCard:
    return card_of(world, passed, now_ms)


def one_lost_everywhere() -> World:
    lost = {
        (Stage.EVENTS, "", "a"),
        (Stage.FIRST, "p1", "b"),
        (Stage.FURTHER, "p2", "c"),
        (Stage.DELIVERED, "p1", "d"),
        (Stage.WAITING, "p2", "e"),
        (Stage.DEAD_LETTER, "p2", "f"),
        (Stage.RETRIED, "p2", "g"),
    }
    outcomes = {"e": "retried", "f": "dead", "g": "retried"}
    ids = ["a", "b", "c", "d", "e", "f", "g", *(f"fine-{at}" for at in range(50))]
    return World(lost=lost).send(
        ids, ("p1", "p2"), lambda i, pipe: outcomes.get(i, "delivered") if pipe == "p2" else "delivered"
    )


def test_nothing_is_lost_while_no_node_has_passed() -> None:
    world = one_lost_everywhere()
    card = seen_at(world, world.passed(nodes=()), LATER + 10 * SETTLE)
    assert (card.lost, card.under_way, card.waiting) == (0, 6, 1)


@pytest.mark.parametrize(
    ("node", "where"),
    [
        ("ingest", {("ingest", "")}),
        ("route", {("route", ""), ("route", "p2")}),
        ("transmit", {("transmit", "p1")}),
        (WRITING, {("transmit", "p2")}),
        ("retry", {("retry", "p2")}),
    ],
)
def test_a_node_that_has_passed_proves_its_own_losses_only(node: str, where: set[tuple[str, str]]) -> None:
    world = one_lost_everywhere()
    assert wrong(seen_at(world, world.passed(nodes=(node,)), LATER)).keys() == where


def test_a_group_that_is_one_record_behind_proves_nothing() -> None:
    world = World(lost={(Stage.EVENTS, "", "a")}).send(["a", "b", "c", "d"])
    ends = dict(world.ends)
    ends["collected", 0] -= 1
    behind = ReadProgress(marks={"ingest": (Watermark(LATER - SETTLE, ends),)}, read_to_ms=LATER)
    assert seen_at(world, behind, LATER).lost == 0
    assert seen_at(world, behind, LATER).under_way == 1


def test_the_settle_time_counts_from_when_the_node_had_passed() -> None:
    world = World(lost={(Stage.EVENTS, "", "a")}).send(["a", "b"])
    passed = world.passed(LATER)
    assert seen_at(world, passed, LATER + SETTLE - 1).lost == 0
    assert seen_at(world, passed, LATER + SETTLE).lost == 1


def test_the_first_mark_that_passed_counts() -> None:
    world = World(lost={(Stage.EVENTS, "", "a")}).send(["a", "b"])
    ends = dict(world.ends)
    early, done, again = (
        Watermark(at, offsets) for at, offsets in ((1, {}), (LATER, ends), (LATER + 9_000, ends))
    )
    passed = ReadProgress(marks={"ingest": (early, done, again)}, read_to_ms=LATER)
    assert seen_at(world, passed, LATER + SETTLE).lost == 1


def test_waiting_events_are_not_lost_before_their_due_time_is_well_over() -> None:
    world = World().send(["a", "b"], outcomes=lambda _i, _p: "waiting")
    due_ms = MINUTE_START + 90_000
    half = 15_000
    early = seen_at(world, world.passed(due_ms - 60_000), due_ms + half + SETTLE - 1)
    assert (early.waiting, early.lost) == (2, 0)
    late = seen_at(world, world.passed(due_ms - 60_000), due_ms + half + SETTLE)
    assert (late.waiting, late.lost) == (0, 2)


def test_a_due_time_of_a_clock_that_is_ahead_keeps_no_event_waiting_for_longer_than_its_topic_does() -> None:
    world = World().send(["a", "b"], outcomes=lambda _i, _p: "waiting")
    ranges = world.ranges()
    for tally in (tally for found in ranges for tally in found.tallies if tally.stage is Stage.WAITING):
        tally.due_ms += 86_400_000
    entered_ms, waits_ms = MINUTE_START + 60_000, 30_000 + 15_000
    book = applied(ranges, now_ms=entered_ms)
    settle_at = entered_ms + waits_ms + SETTLE
    passed = world.passed(entered_ms)
    for now_ms, lost in ((settle_at - 1, 0), (settle_at, 2)):
        assert minute_card(*settled(book, world, passed, now_ms)).lost == lost


def test_waiting_events_stay_waiting_while_retry_is_down() -> None:
    world = World().send(["a", "b"], outcomes=lambda _i, _p: "waiting")
    card = seen_at(world, world.passed(nodes=("ingest", "route", "transmit", WRITING)), LATER + 86_400_000)
    assert (card.waiting, card.lost) == (2, 0)


def test_output_that_was_tallied_before_its_input_is_not_doubled() -> None:
    """audit has read all of `events`, but only one partition of `collected`."""
    world = World().send([f"e{at}" for at in range(20)])
    ranges = [found for found in world.ranges() if (found.topic, found.partition) != ("collected", 1)]
    state = applied(ranges).minutes[TENANT, MINUTE]
    entered_ms = MINUTE_START + 60_000
    marks = world.passed().marks
    unread = ReadProgress(marks=marks, read_to_ms=entered_ms - 1)
    assert minute_card(state, judge(state, unread, LATER, SETTLE)).doubled == 0
    read = ReadProgress(marks=marks, read_to_ms=entered_ms)
    assert minute_card(state, judge(state, read, LATER, SETTLE)).doubled > 0


def test_doubles_are_shown_at_once_when_both_sides_are_read() -> None:
    world = World(doubled={(Stage.DELIVERED, "p1", "e3")}).send([f"e{at}" for at in range(20)])
    now_ms = MINUTE_START + 60_000
    both = ReadProgress(marks={}, read_to_ms=now_ms)
    assert wrong(seen_at(world, both, now_ms)) == {("transmit", "p1"): (0, 1)}


def judged_and_noted(book: LedgerState, passed: ReadProgress, now_ms: int) -> MinuteCard:
    state = book.minutes[TENANT, MINUTE]
    judgement = judge(state, passed, now_ms, SETTLE)
    book.note(judgement)
    return minute_card(state, judgement)


def late_arrival(world: World, book: LedgerState, now_ms: int) -> None:
    """Add an event of the same minute, tallied at `now_ms`, and so far only at collect."""
    offset = world.ends["collected", 0]
    world.topics["collected", 0].append([Event(Stage.COLLECTED, "web", f"new-{now_ms}")])
    book.apply(world.tallied(("collected", 0), offset, offset + 1), 10_000 + offset, now_ms)


def test_late_events_of_a_settled_minute_raise_no_alarm_and_settle_again() -> None:
    world = World().send([f"e{at}" for at in range(10)])
    book = applied(world.ranges())
    assert judged_and_noted(book, world.passed(), LATER).settled
    before = dict(world.ends)
    late_arrival(world, book, LATER + 1_000)
    marks = {node: (Watermark(LATER, before),) for node in NODES}
    card = judged_and_noted(book, ReadProgress(marks=marks, read_to_ms=LATER), LATER + 2_000)
    assert (card.settled, card.spent, card.lost, card.under_way, card.sli) == (True, False, 0, 1, 1.0)
    gone = judged_and_noted(book, world.passed(LATER + 5_000), LATER + 5_000 + SETTLE)
    assert (gone.spent, gone.lost) == (True, 1)


def test_proven_losses_stay_while_others_settle() -> None:
    world = World(lost={(Stage.EVENTS, "", "gone")}).send(["gone", *(f"e{at}" for at in range(10))])
    book = applied(world.ranges())
    assert judged_and_noted(book, world.passed(), LATER).lost == 1
    late_arrival(world, book, LATER + 1_000)
    card = judged_and_noted(book, ReadProgress(marks={}, read_to_ms=LATER), LATER + 2_000)
    assert (card.lost, card.under_way) == (1, 1)
    assert [event.hash for event in hop(card, "ingest").named] == [f"{id_hash('gone'):016x}"]


def test_a_lost_event_that_turns_up_is_not_lost_any_more() -> None:
    world = World(lost={(Stage.DELIVERED, "p1", "late")}).send(["late", *(f"e{at}" for at in range(99))])
    book = applied(world.ranges())
    assert judged_and_noted(book, world.passed(), LATER).spent
    place = ("receipts", 0)
    offset = world.ends[place]
    world.topics[place].append([Event(Stage.DELIVERED, "p1", "late", destination="to-p1", good=False)])
    book.apply(world.tallied(place, offset, offset + 1), 10_000, LATER)
    card = judged_and_noted(book, world.passed(), LATER + SETTLE)
    assert (card.lost, card.delivered, card.spent) == (0, 100, False)


def test_a_minute_settles_when_audit_has_read_on_for_the_settle_time() -> None:
    world = World().send(["a", "b"])
    end = MINUTE_START + 60_000
    assert not seen_at(world, world.passed(end + SETTLE - 1), LATER).settled
    assert seen_at(world, world.passed(end + SETTLE), LATER).settled


def test_receipts_that_are_entered_before_their_events_settle_no_minute() -> None:
    world = World().send([f"e{at}" for at in range(10)])
    receipts = [found for found in world.ranges() if found.topic is Topic.RECEIPTS]
    others = [found for found in world.ranges() if found.topic is not Topic.RECEIPTS]
    before = ReadProgress(marks={}, read_to_ms=LATER - 1_000)
    book = applied(receipts, now_ms=LATER)
    assert not judged_and_noted(book, before, LATER).settled
    applied(others, book, len(receipts), LATER + 1_000)
    assert not judged_and_noted(book, before, LATER + 2_000).settled
    assert judged_and_noted(book, world.passed(LATER + 1_000 + SETTLE), LATER + 2 * SETTLE).settled


def test_recent_events_are_in_time_until_audit_has_read_on() -> None:
    world = World().send([f"e{at}" for at in range(10)])
    book = applied(world.ranges())
    assert judged_and_noted(book, world.passed(), LATER).settled
    late_arrival(world, book, LATER + 1_000)
    away = judged_and_noted(book, ReadProgress(marks={}, read_to_ms=LATER), LATER + 9 * SETTLE)
    assert (away.settled, away.spent, away.under_way, away.in_time) == (True, False, 1, 1)
    read_on = ReadProgress(marks={}, read_to_ms=LATER + 1_000 + SETTLE)
    back = judged_and_noted(book, read_on, LATER + 9 * SETTLE)
    assert (back.spent, back.under_way, back.in_time) == (True, 1, 0)


def test_a_stalled_node_spends_the_minute_without_a_loss() -> None:
    """The events are accounted for, but left late."""
    world = World(lost={(Stage.FIRST, "p1", f"e{at}") for at in range(10)}).send(
        [f"e{at}" for at in range(100)]
    )
    card = seen_at(world, world.passed(nodes=("ingest",)), LATER)
    assert (card.settled, card.lost, card.under_way, card.total, card.sli) == (True, 0, 10, 100, 0.9)
    assert card.spent
    assert card.why == [
        "90 % of 100 deliveries left hifi within 1 s of entering it, 95 % are promised; 10 under way."
    ]


def test_a_judgement_is_final_when_time_alone_changes_nothing() -> None:
    world = World().send(
        [f"e{at}" for at in range(9)], outcomes=lambda i, _: "waiting" if i == "e1" else "slow"
    )
    state = applied(world.ranges()).minutes[TENANT, MINUTE]
    assert not judge(state, world.passed(nodes=("ingest", "route", "transmit")), LATER, SETTLE).final
    assert judge(state, world.passed(), LATER, SETTLE).final


@pytest.mark.parametrize(
    ("topic", "stage"), [(Topic.RETRY_IN_30S, Stage.WAITING), (Topic.DEAD_LETTER, Stage.DEAD_LETTER)]
)
def test_a_record_without_its_receipt_keeps_no_minute_open(topic: Topic, stage: Stage) -> None:
    """transmit was killed between the two, and delivered the event when it read it again."""
    world = World().send(["a", "b", "c"])
    world.topics[topic.value, 0] = [[Event(stage, "p1", "a")]]
    if stage is Stage.WAITING:
        world.topics["retry_out", 0] = [[Event(Stage.RETRIED, "p1", "a")]]
        world.topics["receipts", 2] = [[Event(Stage.DROPPED, "p1", "a", destination="to-p1")]]
    state = applied(world.ranges()).minutes[TENANT, MINUTE]
    entered_ms = MINUTE_START + 60_000
    assert judge(state, world.passed(), LATER, SETTLE).final
    assert not judge(state, world.passed(), entered_ms + SETTLE - 1, SETTLE).final
    assert minute_card(state, judge(state, world.passed(), LATER, SETTLE)).lost == 0


def test_a_claim_that_was_tallied_before_its_event_keeps_the_minute_open() -> None:
    world = World(lost={(Stage.FURTHER, "p2", "a")}).send(["a", "b"], ("p1", "p2"))
    ranges = [found for found in world.ranges() if found.topic is not Topic.EVENTS]
    state = applied(ranges).minutes[TENANT, MINUTE]
    assert not judge(state, world.passed(), LATER, SETTLE).final


def test_events_that_move_on_long_after_they_were_collected_are_not_in_time() -> None:
    """ingest and route were down and are back, transmit is not: the minute stays slow."""
    world = World().send([f"e{at}" for at in range(10)])
    ranges = [found for found in world.ranges() if found.topic is not Topic.RECEIPTS]
    book = applied(found for found in ranges if found.topic is Topic.COLLECTED)
    down = judged_and_noted(book, ReadProgress(marks={}, read_to_ms=LATER), LATER)
    assert (down.settled, down.spent, down.under_way) == (True, True, 10)
    moved_on = [found for found in ranges if found.topic is not Topic.COLLECTED]
    applied(moved_on, book, len(ranges), LATER + 1_000)
    card = judged_and_noted(book, ReadProgress(marks={}, read_to_ms=LATER + 2_000), LATER + 2_000)
    assert (card.spent, card.under_way, card.in_time, card.sli) == (True, 10, 0, 0.0)
