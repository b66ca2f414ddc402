"""A minute with more records than may be read at once is counted all the same, account by account."""

from typing import Final

from pipelines.control.observe.scorecards.minute_state import MinuteTracker
from pipelines.control.observe.verdicts.event_identification import find, within
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import MinuteCard
from tests.unit.pipelines.control.observe.judged import applied, hop
from tests.unit.pipelines.control.observe.world import LATER, SETTLE, World

IDS: Final = [f"e{at}" for at in range(2_000)]
LOST, DOUBLED = IDS[:10], IDS[10:1_010]


def card_by_reads_of(world: World, most: int) -> MinuteCard:
    """The settled card after all that its minute asks for, in reads of at most so many records."""
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


def test_more_second_copies_hide_no_loss() -> None:
    world = World(
        lost={(Stage.EVENTS, "", each) for each in LOST},
        doubled={(Stage.EVENTS, "", each) for each in DOUBLED},
    ).send(IDS, ("p1", "p2", "p3"))
    records = sum(world.ends.values())
    card = card_by_reads_of(world, records - 1)
    assert (hop(card, "ingest").lost, hop(card, "ingest").doubled) == (10, 1_000)


def test_without_a_single_read_the_figures_are_net() -> None:
    world = World(lost={(Stage.EVENTS, "", each) for each in IDS[:500]}).send(IDS)
    assert hop(card_by_reads_of(world, 0), "ingest").lost == 500
