"""A dead letter that is replayed and dies again remains one delivery that hifi does not answer for."""

import numpy as np
import pytest
from msgspec.structs import replace

from pipelines.control.backends.meter import MinuteUsage, side_minute
from pipelines.control.observe.ledger.minute_sums import MinuteState
from pipelines.control.observe.scorecards.minute_cards import minute_card
from pipelines.control.observe.verdicts.verdicts import ReadProgress, judge
from shared.contracts.ledger import Stage, Tally, with_ids
from shared.contracts.scorecard import MinuteCard
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, SETTLE, TENANT

EVENTS = 50
REFUSED = {"404 refused": EVENTS}
HIFIS = {"- worker_failed": EVENTS}


class Minute:
    """Fifty events for two pipes: 30 of `fine` are good and 20 late; all of `bad` die."""

    def __init__(self, reasons: dict[str, int] | None = None) -> None:
        self.state = MinuteState(TENANT, MINUTE)
        self.add(Stage.COLLECTED, "web")
        self.add(Stage.EVENTS, "")
        self.add(Stage.FIRST, "bad")
        self.add(Stage.CLAIMED, "fine")
        self.add(Stage.FURTHER, "fine")
        self.add(Stage.DELIVERED, "fine", good=30)
        self.add(Stage.DEAD, "bad", reasons=REFUSED if reasons is None else reasons)
        self.add(Stage.DEAD_LETTER, "bad")

    def add(self, stage: Stage, name: str, good: int = 0, reasons: dict[str, int] | None = None) -> None:
        bare = Tally(
            stage=stage,
            tenant=TENANT,
            minute=MINUTE,
            name=name,
            count=EVENTS,
            good=good,
            reasons=reasons or {},
            first=0,
            last=EVENTS - 1,
        )
        self.state.add(with_ids(bare, np.arange(EVENTS, dtype=np.uint64)), (stage.value, 0), 0)

    def replayed(self, reasons: dict[str, int]) -> None:
        """Replay all letters, which die again, as audit counts it."""
        self.add(Stage.LETTER, "bad")
        self.add(Stage.DEAD, "bad", reasons=reasons)
        self.add(Stage.DEAD_LETTER, "bad", reasons=reasons)

    @property
    def card(self) -> MinuteCard:
        judgement = judge(self.state, ReadProgress(marks={}, read_to_ms=LATER), LATER, SETTLE)
        return minute_card(self.state, judgement)


@pytest.mark.parametrize("times", [0, 1, 3])
def test_replays_that_die_again_leave_a_slow_minute_spent(times: int) -> None:
    minute = Minute()
    for _ in range(times):
        minute.replayed(REFUSED)
    card = minute.card
    assert (card.customer_dead, card.dead, card.sli, card.spent) == (EVENTS, EVENTS, 0.6, True)


def test_replays_that_arrive_are_still_no_fault_of_hifi() -> None:
    minute = Minute()
    minute.add(Stage.LETTER, "bad")
    minute.add(Stage.DELIVERED, "bad")
    card = minute.card
    assert (card.customer_dead, card.dead, card.sli) == (EVENTS, 0, 0.6)


def test_the_first_death_says_who_answers_for_a_delivery() -> None:
    minute = Minute(HIFIS)
    minute.replayed(REFUSED)
    assert (minute.card.customer_dead, minute.card.hifi_dead) == (0, EVENTS)
    customers = Minute()
    customers.replayed(HIFIS)
    assert (customers.card.customer_dead, customers.card.hifi_dead) == (EVENTS, 0)


@pytest.mark.parametrize(("reasons", "died"), [(HIFIS, {"dead letter": EVENTS}), (REFUSED, {})])
@pytest.mark.parametrize("arrived", [False, True])
def test_a_verdict_counts_what_hifi_let_die_whatever_was_replayed_since(
    reasons: dict[str, int], died: dict[str, int], arrived: bool
) -> None:
    minute = Minute(reasons)
    if arrived:
        minute.add(Stage.LETTER, "bad")
        minute.add(Stage.DELIVERED, "bad")
    assert side_minute(minute.card, MinuteUsage()).dead == died


def test_replayed_letters_of_a_customer_hide_none_that_hifi_let_die() -> None:
    minute = Minute()
    minute.add(Stage.LETTER, "bad")
    minute.add(Stage.DELIVERED, "bad")
    minute.add(Stage.DEAD, "fine", reasons=HIFIS)
    assert side_minute(minute.card, MinuteUsage()).dead == {"dead letter": EVENTS}


def test_a_card_of_an_earlier_observe_still_has_the_letters_that_lie_there() -> None:
    earlier = replace(Minute(HIFIS).card, hifi_dead=0)
    assert side_minute(earlier, MinuteUsage()).dead == {"dead letter": EVENTS}
