"""A second copy sent by one pipe counts, whatever other pipes do with theirs."""

import pytest

from pipelines.control.observe.scorecards.minute_cards import minute_card
from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.event_identification import find, within
from shared.contracts.ledger import Stage
from tests.unit.pipelines.control.observe.judged import applied, card_of, hop, settled
from tests.unit.pipelines.control.observe.world import LATER, SETTLE, Event, World

PIPES = ("p1", "p2", "p3")
IDS = [f"e{at}" for at in range(100)]
BY_INGEST = {(Stage.EVENTS, "", "e7")}
BY_ROUTE = {(Stage.FIRST, "p1", "e7"), (Stage.FURTHER, "p2", "e7"), (Stage.FURTHER, "p3", "e7")}
MADE = [pytest.param(BY_INGEST, "ingest", id="ingest"), pytest.param(BY_ROUTE, "route", id="route")]


@pytest.mark.parametrize(("doubled", "node"), MADE)
@pytest.mark.parametrize("forgets", [(), ("p1",), ("p2",), ("p1", "p3"), PIPES])
def test_what_one_pipe_drops_hides_no_copy_that_another_sends(
    doubled: set[tuple[Stage, str, str]], node: str, forgets: tuple[str, ...]
) -> None:
    world = World(doubled=set(doubled), forgets=frozenset(forgets)).send(IDS, PIPES)
    card = card_of(world)
    assert (card.total, card.doubled, card.again) == (300, len(forgets), len(forgets))
    assert (card.delivered, card.lost) == (300 + len(forgets), 0)
    assert (hop(card, node).doubled, card.sli) == (1, 1.0)


@pytest.mark.parametrize("doubled", [{(Stage.EVENTS, "", "e7")}, {(Stage.UNMATCHED, "", "e7")}])
def test_a_doubled_event_that_no_pipe_takes_is_no_second_delivery(
    doubled: set[tuple[Stage, str, str]],
) -> None:
    card = card_of(World(doubled=doubled).send(IDS, pipes=()).send(["other"]))
    assert (card.total, card.doubled, card.again) == (1, 0, 0)


def test_a_copy_that_is_sent_twice_is_seen_beside_events_that_no_pipe_takes() -> None:
    world = World(doubled=set(BY_ROUTE), forgets=frozenset(("p2",)))
    card = card_of(world.send(IDS, PIPES).send(["filtered"], pipes=()))
    assert (card.total, card.doubled, card.again) == (300, 1, 1)


def test_what_ingest_and_route_both_doubled_is_counted_once_for_each_copy() -> None:
    world = World(doubled=BY_INGEST | BY_ROUTE, remembers=False).send(IDS, PIPES)
    card = card_of(world)
    assert (card.total, card.doubled, card.delivered) == (300, 6, 306)


def test_second_events_of_a_client_are_no_doubles_of_a_hop() -> None:
    card = card_of(World(doubled=set(BY_ROUTE)).send([*IDS, "e7"], PIPES))
    assert (card.doubled, card.lost) == (0, 0)


def test_until_the_records_are_read_a_doubled_event_counts_once() -> None:
    world = World(doubled=set(BY_ROUTE), remembers=False).send(IDS, PIPES)
    card = minute_card(*settled(applied(world.ranges()), world, read=False))
    assert (card.doubled, card.again) == (1, 1)


def test_copies_are_counted_again_only_when_more_have_come() -> None:
    world = World(doubled=set(BY_ROUTE), forgets=frozenset(("p1",))).send(IDS, PIPES)
    tracker = MinuteTracker(SETTLE)
    applied(world.ranges(), tracker.ledger)

    def look() -> int:
        """The doubles of a card after all reads that its minute requests, one after the other."""
        while True:
            card = tracker.judge(world.passed(), LATER)[0]
            plans = list(tracker.plans())
            for key, plan in plans:
                tracker.found(key, find(plan, (e for span in plan.spans for e in world.seen_in(span))))
            if not plans:
                return card.doubled

    assert look() == 1
    place = next(place for place in world.topics if place[0] == "outbound" and has(world, place, "e7"))
    arrives(world, tracker, place, Event(Stage.FURTHER, "p3", "e7"))
    sent = Event(Stage.DELIVERED, "p3", "e7", destination="to-p3")
    arrives(world, tracker, ("receipts", place[1]), sent)
    assert look() == 2


def arrives(world: World, tracker: MinuteTracker, place: tuple[str, int], event: Event) -> None:
    """Add one more record, tallied after all others."""
    start = world.ends[place]
    world.topics[place].append([event])
    tracker.ledger.apply(world.tallied(place, start, start + 1), 500 + sum(world.ends.values()), LATER)


def has(world: World, place: tuple[str, int], event_id: str) -> bool:
    return any(event.id == event_id for events in world.topics[place] for event in events)


def test_a_minute_with_too_many_records_is_named_without_its_copies() -> None:
    world = World(doubled=set(BY_INGEST), forgets=frozenset(("p1",))).send(IDS, PIPES)
    tracker = MinuteTracker(SETTLE)
    applied(world.ranges(), tracker.ledger)
    tracker.judge(world.passed(), LATER)
    ((_, plan),) = tracker.plans()
    names = within(plan, plan.records - 1)
    assert names is not None
    assert (names.wanted, names.copied) == (plan.wanted, frozenset())
    assert (within(plan, plan.records), within(plan, names.records - 1)) == (plan, None)
