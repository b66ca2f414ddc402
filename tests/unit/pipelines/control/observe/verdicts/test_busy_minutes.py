"""A minute with more records than may be read at once is still counted, by reconciliation."""

from typing import Final

from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.event_identification import find, within
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import MinuteCard
from tests.unit.pipelines.control.observe.judged import applied, hop
from tests.unit.pipelines.control.observe.world import LATER, SETTLE, World

IDS: Final = [f"e{at}" for at in range(2_000)]


def card_by_reads_of(world: World, most: int) -> MinuteCard:
    """The settled card after all reads that its minute requests, each limited to a number of records."""
    tracker = MinuteTracker(SETTLE)
    applied(world.ranges(), tracker.ledger)
    while True:
        card = tracker.judge(world.passed(), LATER)[0]
        chosen = [(key, within(plan, most)) for key, plan in tracker.plans()]
        plans = [(key, plan) for key, plan in chosen if plan is not None]
        if not plans:
            return card
        for key, plan in plans:
            assert plan.records <= most
            tracker.found(key, find(plan, (e for span in plan.spans for e in world.seen_in(span))))


def records_wanted(world: World) -> int:
    """Number of records of all the reads that the minute requests at first."""
    tracker = MinuteTracker(SETTLE)
    applied(world.ranges(), tracker.ledger)
    tracker.judge(world.passed(), LATER)
    ((_, plan),) = tracker.plans()
    return plan.records


def test_more_second_copies_hide_no_loss() -> None:
    """At two hops, with more records than may be read of both at once."""
    world = World(
        lost={(Stage.EVENTS, "", each) for each in IDS[:10]}
        | {(Stage.FIRST, "p1", each) for each in IDS[1_200:1_220]},
        doubled={(Stage.EVENTS, "", each) for each in IDS[10:1_010]}
        | {(Stage.FIRST, "p1", each) for each in IDS[1_300:1_800]},
    ).send(IDS)
    card = card_by_reads_of(world, records_wanted(world) - 1)
    found = {name: (hop(card, name).lost, hop(card, name).doubled) for name in ("ingest", "route")}
    assert found == {"ingest": (10, 1_000), "route": (20, 500)}


def test_without_a_single_read_the_figures_are_net() -> None:
    world = World(lost={(Stage.EVENTS, "", each) for each in IDS[:500]}).send(IDS)
    assert hop(card_by_reads_of(world, 0), "ingest").lost == 500
