"""Old minutes are dropped whole: whatever ends dropping early, the card of all tenants stays as it was."""

import pytest

from pipelines.control.observe.dynamodb import Store
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from tests.contract.observe.meter import FIRST, NEVER, Meter, ledger

pytestmark = pytest.mark.usefixtures("small_batches")

TENANTS = tuple(f"tenant-{at:02}" for at in range(20))
"""Enough that the items of one minute are deleted in several requests."""

WRITES = [1, 4, *(pytest.param(each, marks=pytest.mark.proof) for each in (0, 2, 3, 5, 6))]
"""After how many of its writes the store fails."""


def totals(meter: Meter) -> list[MinuteCard]:
    """The stored cards of all tenants."""
    return list(meter.tables.cards(ALL_TENANTS, FIRST, FIRST + 1_439))


def kept(meter: Meter) -> set[int]:
    """The minutes with items that dropping deletes."""
    store: Store = meter.store
    items = [*store.query("state"), *store.query("found")]
    return {int(item.sk.partition("/")[0]) - FIRST for item in items}


@pytest.mark.parametrize("writes", WRITES)
def test_a_process_that_dies_while_it_drops_a_minute_leaves_the_card_of_all_tenants(
    store_url: str, writes: int
) -> None:
    whole = ledger(3, TENANTS)
    meter = Meter(store_url)
    meter.enter(whole)
    assert meter.keeper.save()
    before = totals(meter)
    assert [card.total for card in before] == [5 * len(TENANTS)] * 3
    meter.store.writes = writes
    meter.keeper.forget(FIRST + 2)

    again = Meter(store_url)
    again.enter(whole)
    assert again.keeper.save()
    assert totals(again) == before
    again.keeper.forget(FIRST + 2)
    assert kept(again) == {2}, "what the first process left is deleted"


@pytest.mark.parametrize("writes", WRITES)
def test_a_store_that_fails_while_a_minute_is_dropped_is_asked_again(store_url: str, writes: int) -> None:
    meter = Meter(store_url)
    meter.enter(ledger(3, TENANTS))
    assert meter.keeper.save()
    before = totals(meter)
    meter.store.writes = writes
    meter.keeper.forget(FIRST + 2)
    meter.store.writes = NEVER
    assert meter.keeper.save()
    meter.keeper.forget(FIRST + 2)
    assert kept(meter) == {2}
    assert totals(meter) == before


def test_a_minute_is_dropped_whole_also_if_that_is_more_than_is_dropped_at_once(store_url: str) -> None:
    whole = ledger(4, TENANTS)
    meter = Meter(store_url, most_dropped=len(TENANTS) + 1)
    meter.enter(whole)
    assert meter.keeper.save()
    before = totals(meter)
    meter.keeper.forget(FIRST + 3)
    assert kept(meter) == {2, 3}
    again = Meter(store_url)
    again.enter(whole)
    assert again.keeper.save()
    assert totals(again) == before


def test_late_events_do_not_restart_a_minute_that_was_dropped_just_before_the_process_died(
    store_url: str,
) -> None:
    meter, whole = Meter(store_url), ledger(2)
    meter.enter(whole)
    assert meter.keeper.save()
    before = meter.known()
    meter.keeper.forget(FIRST + 2)  # and nothing is stored after it
    late = ledger(2)[3]
    late.start, late.end = 100, 101
    again = Meter(store_url)
    again.enter([*whole, late])
    assert again.keeper.save()
    assert again.known() == before
