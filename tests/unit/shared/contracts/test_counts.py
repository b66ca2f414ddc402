"""Counts, and those among them that break a promise."""

import msgspec
import pytest
from hypothesis import given
from hypothesis import strategies as st

from pipelines.control.observe.alarms.burn_rate import burning
from pipelines.control.observe.scorecards.day_cards import day_card
from shared.contracts.counts import GOOD_SHARE, Counts, summed
from shared.contracts.scorecard import DayCard, MinuteCard
from shared.contracts.timestamps import day_of
from tests.unit.pipelines.control.observe.alarm_inputs import MINUTE, card, inputs

NUMBERS = st.integers(0, 200)
COUNTS = st.builds(Counts, **dict.fromkeys(Counts().by_name(), NUMBERS))


@given(st.lists(COUNTS, max_size=6))
def test_counts_add_up_one_by_one(parts: list[Counts]) -> None:
    whole = summed(parts)
    one_by_one = Counts()
    for part in parts:
        one_by_one += part
    assert whole == one_by_one
    assert whole.by_name() == {n: sum(p.by_name()[n] for p in parts) for n in Counts().by_name()}


@given(
    total=st.integers(1, 300),
    good=NUMBERS,
    in_time=NUMBERS,
    again=NUMBERS,
    customer_dead=NUMBERS,
)
def test_card_day_and_alarm_agree_on_a_minute_without_loss(**counts: int) -> None:
    counted = Counts(**counts)
    minute = msgspec.structs.replace(
        card(MINUTE - 4), **counted.by_name(), sli=counted.good_share, spent=counted.broken
    )
    day = day_card("shop", day_of(minute.minute), [minute], {})
    alarms = {finding.subject for finding in burning(inputs(minute))}
    assert bool(day.spent) == minute.spent == counted.slow == ("fast" in alarms)


@given(COUNTS)
def test_a_loss_breaks_a_promise_and_is_never_slowness_twice(counts: Counts) -> None:
    if counts.lost:
        assert counts.broken
    if counts.slow:
        assert counts.broken


@pytest.mark.parametrize(
    ("counts", "share"),
    [
        (Counts(total=100, good=95), 0.95),
        (Counts(total=100, good=95, again=5), 95 / 105),
        (Counts(total=100, good=60, in_time=40), 1.0),
        (Counts(total=100, good=50, dead=50, customer_dead=50), 1.0),
        (Counts(total=100, good=50, dead=50), 0.5),
        (Counts(total=40, in_time=40), None),
        (Counts(), None),
    ],
)
def test_hifi_answers_for_what_is_owed_and_sent_twice_but_not_for_customers_faults(
    counts: Counts, share: float | None
) -> None:
    assert counts.good_share == (None if share is None else pytest.approx(share))
    assert counts.broken == (share is not None and share < GOOD_SHARE)


def test_cards_that_were_stored_before_a_count_was_added_can_be_read() -> None:
    old = b'{"tenant":"shop","minute":7,"settled":true,"collected":3,"total":3,"good":2,"sli":0.7}'
    read = msgspec.json.decode(old, type=MinuteCard)
    assert (read.collected, read.total, read.good, read.again, read.customer_dead) == (3, 3, 2, 0, 0)
    assert msgspec.json.decode(b'{"tenant":"shop","day":"2026-11-23","lost":1}', type=DayCard).lost == 1
