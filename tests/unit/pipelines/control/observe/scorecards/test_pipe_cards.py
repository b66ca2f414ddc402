"""Outcomes of one pipe's events: each counts once, however often it was tried."""

from pipelines.control.observe.scorecards.pipe_cards import pipe_card
from shared.contracts.ledger import Stage
from tests.unit.pipelines.control.observe.judged import card_of
from tests.unit.pipelines.control.observe.world import MINUTE, TENANT, World


def outcome(event_id: str, pipe: str) -> str:
    kinds = ("delivered", "slow", "retried", "waiting", "dead")
    return kinds[int(event_id) % len(kinds)] if pipe == "p2" else "delivered"


def test_of_every_outcome_one_event_each_is_counted_once_and_only_the_prompt_are_good() -> None:
    card = card_of(World().send([str(n) for n in range(50)], ("p1", "p2"), outcome))
    found = pipe_card(TENANT, "p2", MINUTE, MINUTE, [card])
    assert (found.events, found.good, found.dead) == (50, 10, 10)
    others = pipe_card(TENANT, "p1", MINUTE, MINUTE, [card])
    assert (others.events, others.good, others.dead) == (50, 50, 0)
    assert pipe_card(TENANT, "p3", MINUTE, MINUTE, [card]).events == 0


def test_second_copies_that_transmit_drops_do_not_count_and_lost_events_are_not_good() -> None:
    world = World(doubled={(Stage.FIRST, "p1", "3")}, lost={(Stage.DELIVERED, "p1", "7")})
    card = card_of(world.send([str(n) for n in range(50)], ("p1",)))
    found = pipe_card(TENANT, "p1", MINUTE, MINUTE, [card, card])
    assert (found.events, found.good) == (100, 98)
