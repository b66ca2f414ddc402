"""Old minutes are dropped as a whole: an interruption leaves the card of all tenants as it was."""

import pytest

from pipelines.control.observe.dynamodb import Store
from pipelines.control.observe.verdicts.event_identification import find
from pipelines.control.observe.verdicts.event_resolver import EventResolver
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from tests.contract.observe.meter import FIRST, NEVER, Meter, ledger
from tests.unit.pipelines.control.observe.judged import hop, ids
from tests.unit.pipelines.control.observe.world import LATER, MINUTE, MINUTE_START, TENANT, Event, World

pytestmark = pytest.mark.usefixtures("small_batches")

TENANTS = tuple(f"tenant-{at:02}" for at in range(20))
"""Enough that the items of one minute are deleted in several requests."""

WRITES = [1, 4, *(pytest.param(each, marks=pytest.mark.proof) for each in (0, 2, 3, 5, 6))]
"""Number of its writes after which the store fails."""


def totals(meter: Meter) -> list[MinuteCard]:
    """The stored cards of all tenants."""
    return list(meter.tables.cards(ALL_TENANTS, FIRST, FIRST + 1_439))


def kept(meter: Meter) -> set[int]:
    """Minutes with items that dropping would delete."""
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


def losing(lost: int, doubled: int) -> World:
    """ingest lost some events of a minute and doubled others."""
    events = [f"e{at}" for at in range(lost + doubled + 1)]
    return World(
        lost={(Stage.EVENTS, "", each) for each in events[:lost]},
        doubled={(Stage.EVENTS, "", each) for each in events[lost : lost + doubled]},
    ).send(events)


def entered(meter: Meter, world: World) -> None:
    """The world's records are applied and judged."""
    for offset, found in enumerate(world.ranges()):
        meter.board.ledger.apply(found, offset, MINUTE_START + 60_000)
    look(meter, world)


def look(meter: Meter, world: World) -> None:
    meter.days.take(meter.board.judge(world.passed(), LATER))
    meter.keeper.load()


@pytest.mark.parametrize(("lost", "doubled"), [(3, 0), (10, 600)], ids=["named", "counted, then named"])
def test_a_minute_stays_until_the_records_that_its_verdict_needs_are_read(
    store_url: str, lost: int, doubled: int
) -> None:
    """However old the minute is: after an outage many become final at once, and are read one by one."""
    meter, world = Meter(store_url), losing(lost, doubled)
    entered(meter, world)
    while plans := list(meter.board.plans()):
        assert meter.keeper.save()
        meter.keeper.forget(MINUTE + 1)
        for key, plan in plans:
            assert meter.board.found(key, find(plan, world.seen()))
        look(meter, world)
    assert meter.keeper.save()
    (card,) = meter.tables.cards(TENANT, MINUTE, MINUTE)
    assert (card.lost, ids(hop(card, "ingest"), 1)) == (lost, {f"e{at}" for at in range(lost)})
    meter.keeper.forget(MINUTE + 1)
    assert list(meter.tables.states()) == []


def test_a_minute_stays_while_a_second_reading_of_it_is_under_way(store_url: str) -> None:
    """More was lost after the first reading was requested."""
    meter, world = Meter(store_url), losing(1, 0)
    entered(meter, world)
    ((key, first),) = meter.board.plans()
    place, end = ("collected", 0), world.ends["collected", 0]
    world.topics[place].append([Event(Stage.COLLECTED, "web", "late")])
    meter.board.ledger.apply(world.tallied(place, end, end + 1), 100, MINUTE_START + 60_000)
    look(meter, world)
    ((_, second),) = meter.board.plans()
    assert meter.board.found(key, find(first, world.seen()))
    look(meter, world)
    assert list(meter.board.plans()) == []
    assert meter.keeper.save()
    meter.keeper.forget(MINUTE + 1)
    assert meter.board.found(key, find(second, world.seen()))
    look(meter, world)
    assert meter.keeper.save()
    (card,) = meter.tables.cards(TENANT, MINUTE, MINUTE)
    assert ids(hop(card, "ingest"), 1) == {"e0", "late"}


def test_a_minute_of_which_nothing_can_be_read_is_dropped(store_url: str) -> None:
    """It has more records than one reading may have: the resolver answers that at once."""
    meter, world = Meter(store_url), losing(3, 0)
    resolver = EventResolver("nowhere:9092", "test", most=0)
    entered(meter, world)
    for key, plan in meter.board.plans():
        resolver.ask(key, plan)
    for key, found in resolver.answers():
        assert found is not None
        assert meter.board.found(key, found)
    look(meter, world)
    assert list(meter.board.plans()) == []
    assert meter.keeper.save()
    (card,) = meter.tables.cards(TENANT, MINUTE, MINUTE)
    assert card.lost == 3
    meter.keeper.forget(MINUTE + 1)
    assert list(meter.tables.states()) == []
