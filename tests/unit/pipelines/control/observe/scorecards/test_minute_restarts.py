"""A restarted process judges its minutes like the one before, also while audit has not read on."""

from collections.abc import Iterable

import msgspec
import pytest
from msgspec import structs

from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.ledger.watermarks import WRITING, OffsetsSnapshot, Watermarks
from pipelines.control.observe.scorecards.ledger_state import LedgerPosition
from pipelines.control.observe.scorecards.minute_cards import minute_card
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.event_identification import find
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import MinuteCard
from shared.contracts.topics import Topic
from tests.unit.pipelines.control.observe.judged import hop
from tests.unit.pipelines.control.observe.world import (
    LATER,
    MINUTE,
    MINUTE_START,
    SETTLE,
    TENANT,
    Event,
    World,
)

IDS = [f"e{at}" for at in range(20)]
ENTERED_MS = MINUTE_START + 60_000
NODES = ("ingest", "route", "transmit", WRITING, "retry")


def tracked(world: World) -> MinuteTracker:
    tracker = MinuteTracker(SETTLE)
    for offset, found in enumerate(world.ranges()):
        tracker.ledger.apply(found, offset, ENTERED_MS)
    return tracker


def judged(tracker: MinuteTracker, passed: ReadProgress, now_ms: int = LATER) -> MinuteCard:
    tracker.judge(passed, now_ms)
    return minute_card(*tracker.judged[TENANT, MINUTE])


def restarted(tracker: MinuteTracker) -> tuple[MinuteTracker, Watermarks]:
    """The next process, after its first look; audit has records to read."""
    return started(
        [MinuteState.decode(state.encode()) for state in tracker.ledger.minutes.values()],
        msgspec.msgpack.encode(tracker.ledger.position),
    )


def upgraded(tracker: MinuteTracker) -> tuple[MinuteTracker, Watermarks]:
    """The next process, after a version that stored less."""
    states = [MinuteState.decode(state.encode()) for state in tracker.ledger.minutes.values()]
    for state in states:
        state.proven = {key: structs.replace(each, dropped=0) for key, each in state.proven.items()}
    fields = structs.asdict(tracker.ledger.position)
    return started(
        states, msgspec.msgpack.encode({name: fields[name] for name in ("offset", "covered", "floor")})
    )


def started(states: Iterable[MinuteState], position: bytes) -> tuple[MinuteTracker, Watermarks]:
    again, watermarks = MinuteTracker(SETTLE), Watermarks(SETTLE)
    again.ledger.restore(states, msgspec.msgpack.decode(position, type=LedgerPosition))
    again.begin({})
    watermarks.resume(again.ledger.read_to_ms)
    unread = {(Topic.COLLECTED.value, 0): 10**6}
    watermarks.take(OffsetsSnapshot(LATER + 1, {}, unread, dict(again.ledger.offsets)))
    return again, watermarks


def known(watermarks: Watermarks) -> ReadProgress:
    return ReadProgress(marks=watermarks.marks, read_to_ms=watermarks.read_to_ms)


def twice() -> World:
    """route writes every copy twice, and transmit recognises the second ones."""
    return World(doubled={(Stage.FIRST, "p1", each) for each in IDS}).send(IDS)


def stuck() -> World:
    """Half of the events reached only ingest: they are late."""
    return World(lost={(Stage.FIRST, "p1", each) for each in IDS[::2]}).send(IDS)


@pytest.mark.parametrize(
    ("world", "nodes", "spent"),
    [(twice(), NODES, False), (stuck(), ("ingest",), True)],
    ids=["twice", "stuck"],
)
def test_a_restart_changes_no_settled_minute(world: World, nodes: tuple[str, ...], spent: bool) -> None:
    tracker = tracked(world)
    before = judged(tracker, world.passed(LATER - SETTLE, nodes))
    assert (before.settled, before.spent, before.total) == (True, spent, len(IDS))
    again, watermarks = restarted(tracker)
    assert judged(again, known(watermarks)) == before


def test_an_upgrade_spends_no_minute_with_dropped_copies() -> None:
    tracker, world = tracked(twice()), twice()
    before = judged(tracker, world.passed())
    again, watermarks = upgraded(tracker)
    assert 0 < watermarks.read_to_ms <= world.passed().read_to_ms
    assert judged(again, known(watermarks)) == before


def test_an_upgrade_without_a_settled_minute_does_not_know_how_far_audit_had_read() -> None:
    again, watermarks = upgraded(tracked(twice()))
    assert (again.ledger.read_to_ms, watermarks.read_to_ms) == (0, 0)


def test_what_was_not_read_when_the_process_ended_is_not_taken_as_read_by_the_next() -> None:
    world = twice()
    tracker = tracked(world)
    early = ReadProgress(marks={}, read_to_ms=ENTERED_MS - 1)
    before = judged(tracker, early, ENTERED_MS)
    again, watermarks = restarted(tracker)
    assert watermarks.read_to_ms == ENTERED_MS - 1
    after = judged(again, known(watermarks), ENTERED_MS)
    assert after == before
    assert not after.settled


@pytest.mark.parametrize("restarts", [False, True])
def test_a_late_delivery_leaves_the_dropped_copies_out_of_what_is_owed(restarts: bool) -> None:
    """Until audit reads on, transmit's reconciliation is ambiguous."""
    world = twice()
    tracker = tracked(world)
    before = judged(tracker, world.passed())
    for at, (topic, stage) in enumerate([("outbound", Stage.FURTHER), ("receipts", Stage.DELIVERED)]):
        place, offset = (topic, 0), world.ends[topic, 0]
        world.topics[place].append([Event(stage, "p1", "late")])
        tracker.ledger.apply(world.tallied(place, offset, offset + 1), 10_000 + at, LATER + 1_000)
    if restarts:
        tracker, _ = restarted(tracker)
    after = judged(tracker, ReadProgress(marks={}, read_to_ms=LATER), LATER + 2_000)
    assert (before.total, after.total, after.good) == (20, 21, 21)
    assert (after.settled, after.spent) == (True, False)


def test_lost_events_keep_their_ids_when_they_are_read_again_and_their_records_have_expired() -> None:
    """A process that starts has the events of every minute named once more."""
    world = World(lost={(Stage.EVENTS, "", "gone")}).send(["gone", *IDS])
    tracker = tracked(world)
    judged(tracker, world.passed())
    for records in (list(world.seen()), []):
        ((key, plan),) = tracker.plans()
        assert tracker.found(key, find(plan, records))
        card = judged(tracker, world.passed())
        assert [event.id for event in hop(card, "ingest").named] == ["gone"]
        findings = tracker.findings
        tracker, _ = restarted(tracker)
        tracker.begin(findings)
        judged(tracker, world.passed())


def test_a_reading_that_fails_after_its_minute_was_dropped_ends_nothing() -> None:
    world = World(lost={(Stage.EVENTS, "", "gone")}).send(["gone", *IDS])
    tracker = tracked(world)
    judged(tracker, world.passed())
    ((key, plan),) = tracker.plans()
    tracker.forget(MINUTE + 1, [key])
    tracker.ask_again(key)
    assert tracker.judge(world.passed(), LATER) == []
    assert not tracker.found(key, find(plan, world.seen()))
