"""Lost and doubled events are counted and named at the hop that caused them, and nowhere else."""

from typing import Any

import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.scorecards.minute_cards import minute_card
from shared.contracts.ledger import Stage
from shared.contracts.topics import Topic
from tests.unit.pipelines.control.observe.judged import applied, card_of, hop, ids, settled, wrong
from tests.unit.pipelines.control.observe.world import Event, World

PIPES = ("p1", "p2", "p3")
HOPS = [
    pytest.param(Stage.EVENTS, "", ("ingest", ""), id="ingest"),
    pytest.param(Stage.FIRST, "p1", ("route", ""), id="route-first"),
    pytest.param(Stage.FURTHER, "p2", ("route", "p2"), id="route-further"),
    pytest.param(Stage.DELIVERED, "p2", ("transmit", "p2"), id="transmit"),
    pytest.param(Stage.WAITING, "p3", ("transmit", "p3"), id="transmit-writes-retry"),
    pytest.param(Stage.DEAD_LETTER, "p1", ("transmit", "p1"), id="transmit-writes-dead"),
    pytest.param(Stage.RETRIED, "p3", ("retry", "p3"), id="retry"),
]
FINE = [200, pytest.param(500, marks=pytest.mark.proof)]
"""Events beside the faulty ones."""


def outcome(event_id: str, pipe: str) -> str:
    """p3 retries everything; where a test asks for it, p1's even events become dead letters."""
    return {"p3": "retried", "p1": "dead"}.get(pipe, "delivered")


def some_wrong(
    stage: Stage, name: str, count: int, fine: int, remembers: bool
) -> tuple[World, set[str], set[str]]:
    lost = {f"lost-{at}" for at in range(count)}
    doubled = {f"doubled-{at}" for at in range(count)}
    world = World(
        lost={(stage, name, each) for each in lost},
        doubled={(stage, name, each) for each in doubled},
        remembers=remembers,
    )
    world.send([*(f"fine-{at}" for at in range(fine)), *lost, *doubled], PIPES, outcome)
    return world, lost, doubled


@pytest.mark.parametrize("fine", FINE)
@pytest.mark.parametrize("count", [1, 30, 100])
@pytest.mark.parametrize(("stage", "name", "where"), HOPS)
def test_what_one_hop_loses_and_doubles_is_named_there_and_nowhere_else(
    stage: Stage, name: str, where: tuple[str, str], count: int, fine: int
) -> None:
    world, lost, doubled = some_wrong(stage, name, count, fine, remembers=False)
    card = card_of(world)
    assert wrong(card) == {where: (count, count)}
    assert ids(hop(card, *where), 1) == lost
    assert ids(hop(card, *where), -1) == doubled
    assert not hop(card, *where).unnamed
    copies = len(PIPES) if stage is Stage.EVENTS else 1
    assert (card.lost, card.doubled) == (count, count * copies)
    assert card.spent


@pytest.mark.parametrize("fine", FINE)
@pytest.mark.parametrize(("stage", "name", "where"), HOPS)
def test_300_lost_behind_300_doubled_are_counted_from_the_records(
    stage: Stage, name: str, where: tuple[str, str], fine: int
) -> None:
    world, lost, doubled = some_wrong(stage, name, 300, fine, remembers=False)
    card = card_of(world)
    assert wrong(card) == {where: (300, 300)}
    assert len(ids(hop(card, *where), 1)) == 100
    assert ids(hop(card, *where), 1) < lost
    assert ids(hop(card, *where), -1) < doubled
    assert hop(card, *where).unnamed


def test_before_the_records_are_read_net_counts_are_shown_as_unnamed() -> None:
    world = World(lost={(Stage.DELIVERED, "p1", f"e{at}") for at in range(400)})
    world.send([f"e{at}" for at in range(1_000)])
    found = settled(applied(world.ranges()), world, read=False)
    row = hop(minute_card(*found), "transmit", "p1")
    assert (row.lost, row.doubled, row.unnamed, row.named) == (400, 0, True, [])


@pytest.mark.parametrize(
    ("stage", "name"), [(Stage.EVENTS, ""), (Stage.FIRST, "p1"), (Stage.FURTHER, "p2"), (Stage.RETRIED, "p3")]
)
@pytest.mark.parametrize("count", [1, 100, 400])
def test_doubles_that_transmit_drops_are_not_called_doubled(stage: Stage, name: str, count: int) -> None:
    world = World(doubled={(stage, name, f"e{at}") for at in range(count)})
    world.send([f"e{at}" for at in range(1_000)], PIPES, lambda _, p: "retried" if p == "p3" else "delivered")
    found = settled(applied(world.ranges()), world)
    card = minute_card(*found)
    assert found.judgement.needs_reading == []
    assert (card.lost, card.doubled, card.total) == (0, 0, 3_000)
    assert sum(row.dropped for row in card.hops) == count * (3 if stage is Stage.EVENTS else 1)


def test_doubles_that_reach_the_destination_make_no_other_delivery_good() -> None:
    """60 good second copies do not replace the 60 slow ones of 1,000: 940 of 1,000 were good."""
    world = World(doubled={(Stage.FIRST, "p1", f"e{at}") for at in range(60)}, remembers=False)
    world.send([f"e{at}" for at in range(940)]).send([f"s{at}" for at in range(60)], outcomes=slow)
    card = card_of(world)
    assert (card.total, card.delivered, card.doubled, card.good) == (1_000, 1_060, 60, 1_000)
    assert card.sli == pytest.approx(1_000 / 1_060)
    assert card.spent


def slow(_id: str, _pipe: str) -> str:
    return "slow"


def replayed(world: World, count: int) -> World:
    """transmit's batch is repeated after its receipts were written: all are dropped, none is taken twice."""
    for at in range(count):
        place = ("receipts", at % 2)
        world.topics[place].append([Event(Stage.DROPPED, "p1", f"e{at}", destination="to-p1")])
    return world


@pytest.mark.parametrize("count", [1, 1_000])
def test_a_batch_that_transmit_sees_again_is_neither_lost_nor_doubled_nor_owed_less(count: int) -> None:
    world = replayed(World().send([f"e{at}" for at in range(1_000)]), count)
    found = settled(applied(world.ranges()), world, read=False)
    card = minute_card(*found)
    assert found.judgement.needs_reading == []
    assert (card.lost, card.doubled, card.total, card.sli) == (0, 0, 1_000, 1.0)


def test_a_thousand_second_copies_that_were_dropped_need_no_reading_at_transmit() -> None:
    world = World(doubled={(Stage.FIRST, "p1", f"e{at}") for at in range(1_000)})
    world.send([f"e{at}" for at in range(1_000)])
    found = settled(applied(world.ranges()), world, read=False)
    card = minute_card(*found)
    assert [key.reconciliation for key in found.judgement.needs_reading] == ["route"]
    assert (card.lost, card.doubled, card.total, card.sli) == (0, 0, 1_000, 1.0)


WRONG = st.dictionaries(
    st.integers(0, 79).map("e{}".format),
    st.tuples(st.sampled_from([tuple(each.values) for each in HOPS]), st.booleans()),
    max_size=40,
)


@given(WRONG)
def test_any_mixture_of_losses_and_doubles_is_distinguished(found: dict[str, tuple[Any, bool]]) -> None:
    made = {(stage, name, each): lost for each, ((stage, name, _), lost) in found.items()}
    world = World(
        lost={key for key, lost in made.items() if lost},
        doubled={key for key, lost in made.items() if not lost},
        remembers=False,
    )
    card = card_of(world.send([f"e{at}" for at in range(80)], PIPES, outcome))
    wanted: dict[tuple[str, str], set[tuple[str, int]]] = {}
    for each, ((_, _, where), lost) in found.items():
        wanted.setdefault(where, set()).add((each, 1 if lost else -1))
    named = {
        (row.node.value, row.pipe): {(event.id, event.times) for event in row.named}
        for row in card.hops
        if row.named
    }
    assert named == wanted


def test_a_lost_further_copy_is_owed_still() -> None:
    card = card_of(World(lost={(Stage.FURTHER, "p2", "e1")}).send([f"e{at}" for at in range(10)], PIPES))
    assert (card.total, card.delivered, card.lost) == (30, 29, 1)
    assert card.loss_percent == pytest.approx(100 / 30)


def test_a_named_event_points_at_a_record_that_shows_it() -> None:
    world = World(
        lost={(Stage.DELIVERED, "p1", "gone")}, doubled={(Stage.FIRST, "p1", "twice")}, remembers=False
    )
    card = card_of(world.send(["gone", "fine", "twice"]))
    (gone,), (twice,) = hop(card, "transmit", "p1").named, hop(card, "route").named
    at = {
        (seen.record.topic, seen.record.partition, seen.record.offset): seen.id
        for seen in world.seen()
        if seen.stage is Stage.FIRST
    }
    assert at[gone.topic, gone.partition, gone.offset] == "gone"
    copies = [offset for (topic, _, offset), name in at.items() if topic == twice.topic and name == "twice"]
    assert twice.offset == max(copies) > min(copies)
    assert any(place.startswith("outbound/") for place in hop(card, "transmit", "p1").look_at)


def test_quarantined_records_are_accounted_for() -> None:
    gone = [Event(Stage.EVENTS, "", "q1"), Event(Stage.FIRST, "p1", "q2"), Event(Stage.WAITING, "p3", "q3")]
    world = World(
        lost={(Stage.FIRST, "p1", "q1"), (Stage.DELIVERED, "p1", "q2"), (Stage.RETRIED, "p3", "q3")}
    )
    world.send(["q1", "q2", *(f"e{at}" for at in range(20))])
    world.send(["q3"], ("p3",), lambda _i, _p: "retried")
    for topic, event in zip((Topic.EVENTS, Topic.OUTBOUND, Topic.RETRY_IN_30S), gone, strict=True):
        world.quarantine(topic, event)
    card = card_of(world)
    assert (card.lost, card.doubled, card.quarantined) == (0, 0, 3)
    assert [(row.node, row.quarantined) for row in card.hops if row.quarantined] == [
        ("route", 1),
        ("transmit", 1),
        ("retry", 1),
    ]


def test_quarantine_explains_only_the_events_that_are_in_it() -> None:
    world = World(lost={(Stage.DELIVERED, "p1", "q1"), (Stage.DELIVERED, "p1", "gone")})
    world.send(["q1", "gone", "fine"])
    world.quarantine(Topic.OUTBOUND, Event(Stage.FIRST, "p1", "q1"))
    card = card_of(world)
    assert wrong(card) == {("transmit", "p1"): (1, 0)}
    assert ids(hop(card, "transmit", "p1"), 1) == {"gone"}


def test_filtered_events_are_neither_owed_nor_lost() -> None:
    card = card_of(
        World().send([f"e{at}" for at in range(50)]).send([f"f{at}" for at in range(70)], pipes=())
    )
    assert (card.collected, card.unmatched, card.total, card.lost) == (120, 70, 50, 0)
    assert card.sli == 1.0


def test_a_lost_unmatched_record_is_a_loss_at_route() -> None:
    card = card_of(World(lost={(Stage.UNMATCHED, "", "f1")}).send(["f1", "f2"], pipes=()))
    assert wrong(card) == {("route", ""): (1, 0)}
    assert ids(hop(card, "route"), 1) == {"f1"}


def test_a_replayed_dead_letter_is_no_longer_dead_and_owed_once() -> None:
    world = World().send(
        [f"e{at}" for at in range(10)], outcomes=lambda i, _: "dead" if i == "e1" else "delivered"
    )
    before = card_of(world)
    world.letter("p1", "e1")
    after = card_of(world)
    assert (before.dead, before.total, before.delivered) == (1, 10, 9)
    assert (after.dead, after.total, after.delivered, after.lost, after.doubled) == (0, 10, 10, 0, 0)


def test_a_dead_letter_that_is_replayed_twice_is_owed_once() -> None:
    world = World().send(["e1"], outcomes=lambda _i, _p: "dead").send([f"f{at}" for at in range(9)])
    world.letter("p1", "e1")
    world.letter("p1", "e1", Stage.DROPPED)
    card = card_of(world)
    assert (card.dead, card.total, card.delivered, card.lost, card.doubled) == (0, 10, 10, 0, 0)
