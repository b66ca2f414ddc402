"""A replay after a rollback is no double, and its deliveries are not lost."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.scorecards.minute_cards import minute_card, with_replay
from pipelines.control.observe.verdicts.verdicts import ReadProgress
from shared.contracts.counts import Counts
from shared.contracts.ledger import Stage
from tests.unit.pipelines.control.observe.judged import applied, card_of, hop, ids, settled, wrong
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, TENANT, World, slow

_IDS = [str(at) for at in range(20)]
_LOSSES = [
    (Stage.EVENTS, ""),
    (Stage.FIRST, "p1"),
    (Stage.FURTHER, "p2"),
    (Stage.DELIVERED, "p1"),
    (Stage.DELIVERED, "p2"),
]
_PIPES = ("p1", "p2")


@pytest.mark.parametrize("events", [60, 1_000])
def test_what_is_delivered_again_is_replayed_and_not_doubled(events: int) -> None:
    names = [str(at) for at in range(events)]
    before = card_of(World().send(names, _PIPES))
    card = card_of(World().send(names, _PIPES).process_again(names, _PIPES))
    assert wrong(card) == {}
    assert (card.lost, card.doubled, card.replayed) == (0, 0, 2 * events)
    assert (card.total, card.good, card.sli, card.spent) == (before.total, before.good, 1.0, False)
    assert (card.inside, card.end_to_end) == (before.inside, before.end_to_end)
    assert [hop(card, node).replayed for node in ("ingest", "route")] == [events, events]


@given(st.sets(st.tuples(st.sampled_from(_LOSSES), st.sampled_from(_IDS)), min_size=1, max_size=8))
def test_what_a_bad_version_lost_is_late_once_all_of_the_minute_is_processed_again(
    losses: set[tuple[tuple[Stage, str], str]],
) -> None:
    lost = {(*where, event) for where, event in losses}
    world = World(lost=lost).send(_IDS, _PIPES)
    assert card_of(world).lost > 0
    world.lost.clear()
    card = card_of(world.process_again(_IDS, _PIPES))
    assert wrong(card) == {}
    assert (card.lost, card.doubled) == (0, 0)
    assert (card.total, card.delivered, card.replayed) == (40, 40, 40)
    assert card.good < card.total, "they are not good: they came late"


def test_a_loss_stays_one_while_a_part_of_the_minute_is_not_processed_again() -> None:
    world = World(lost={(Stage.FIRST, "p1", "7")}).send(_IDS)
    card = card_of(world.process_again(_IDS[:15]))
    assert (card.lost, card.doubled, card.replayed, card.total) == (1, 0, 15, 20)
    assert ids(hop(card, "route"), 1) == {"7"}


def test_what_the_second_pass_loses_is_lost() -> None:
    world = World().send(_IDS)
    world.lost = {(Stage.DELIVERED, "p1", "9")}
    card = card_of(world.process_again(_IDS))
    assert (card.lost, card.doubled, card.replayed) == (1, 0, 19)
    assert wrong(card) == {("transmit", "p1"): (1, 0)}


def test_a_spent_minute_stays_spent_while_its_second_pass_is_under_way() -> None:
    world = World().send(_IDS, outcomes=slow)
    book = applied(world.ranges())
    before = settled(book, world)
    book.note(before.judgement)
    assert minute_card(*before).spent
    first_pass = dict(world.ends)
    world.lost = {(Stage.DELIVERED, "p1", event) for event in _IDS}  # not delivered yet
    world.process_again(_IDS)
    ranges = world.ranges(lambda place, _: [first_pass.get(place, 0)])
    again = [found for found in ranges if found.start >= first_pass.get((found.topic, found.partition), 0)]
    applied(again, book, len(ranges), LATER)
    card = minute_card(*settled(book, world, ReadProgress(marks={}, read_to_ms=LATER), LATER))
    assert book.minutes[TENANT, MINUTE].replayed_whole
    assert (card.under_way, card.in_time, card.sli, card.spent) == (20, 0, 0.0, True)


def test_dead_letters_of_a_bad_version_are_put_right_by_the_second_pass() -> None:
    world = World().send(_IDS, outcomes=lambda _i, _p: "dead")
    assert card_of(world).dead == 20
    card = card_of(world.process_again(_IDS))
    assert (card.dead, card.delivered, card.total) == (0, 20, 20)


def test_second_copies_of_a_replay_that_transmit_sent_are_doubled() -> None:
    world = World(remembers=False).send(_IDS)
    world.doubled = {(Stage.FIRST, "p1", "3")}
    card = card_of(world.process_again(_IDS))
    assert (card.doubled, card.lost) == (1, 0)


@given(st.permutations(range(6)))
def test_the_order_of_the_ledger_does_not_matter(order: list[int]) -> None:
    world = World(lost={(Stage.FIRST, "p1", "7")}).send(_IDS).process_again(_IDS)
    ranges = world.ranges()
    shuffled = [ranges[at] for at in order if at < len(ranges)] + ranges[len(order) :]
    state = settled(applied(shuffled), world).state
    assert state.replayed_whole
    assert settled(applied(shuffled), world).judgement == settled(applied(ranges), world).judgement


def test_a_stored_minute_keeps_its_second_pass_and_one_of_before_has_none() -> None:
    state = applied(World().send(_IDS).process_again(_IDS).ranges()).minutes[TENANT, MINUTE]
    restored = MinuteState.decode(state.encode())
    assert restored == state
    assert restored.replayed_whole
    plain = applied(World().send(_IDS).ranges()).minutes[TENANT, MINUTE]
    assert plain.replay is None
    assert b"replay" not in msgspec.json.encode(plain.lines, enc_hook=str)


def test_each_count_has_a_rule_for_a_minute_that_is_processed_again() -> None:
    """For each count, if some of the minute's events were processed again, and if all were."""
    first, second, both, none = 1, 3, 4, 0
    rules = {
        **dict.fromkeys(("collected", "late", "good"), (first, first)),
        **dict.fromkeys(("total", "delivered", "unmatched", "held_up"), (first, second)),
        **dict.fromkeys(("customer_dead", "hifi_dead"), (first, second)),
        **dict.fromkeys(("dead", "lost", "under_way", "waiting"), (both, second)),
        **dict.fromkeys(("again", "doubled", "quarantined"), (both, both)),
        "in_time": (first, none),
        "replayed": (second, second),
    }
    names = Counts().by_name()
    passes = [Counts(**dict.fromkeys(names, count)) for count in (first, second)]
    some, whole = (with_replay(*passes, whole=each).by_name() for each in (False, True))
    assert {name: (some[name], whole[name]) for name in names} == rules
