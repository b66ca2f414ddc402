"""The cards by which alarms judge, taken from memory."""

from pipelines.control.observe.health.snapshot import Snapshot, recent_cards
from pipelines.control.observe.scorecards.day_state import DayState
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from shared.contracts.timestamps import DAY_MINUTES

MIDNIGHT = 29_000_000 // DAY_MINUTES * DAY_MINUTES
NOW = MIDNIGHT + 30


def held(*cards: tuple[str, int], tenants: tuple[str, ...] = ("acme", "idle", "zoo")) -> Snapshot:
    """A snapshot at NOW of days with these minutes."""
    days = DayState()
    days.take(MinuteCard(tenant=tenant, minute=minute, settled=True) for tenant, minute in cards)
    days.expect([("idle", NOW)])
    return Snapshot(at_ms=NOW * 60_000, cards=days.cards, tenants=tenants)


def minutes(found: Snapshot, last: int, *also: int) -> dict[str, list[int]]:
    recent = recent_cards(found, last, also).items()
    return {tenant: [card.minute for card in cards] for tenant, cards in recent}


def test_recent_cards_are_those_of_the_last_minutes_on_both_sides_of_midnight_oldest_first() -> None:
    around = [NOW + 2, NOW + 1, NOW, MIDNIGHT, MIDNIGHT - 1, NOW - 59, NOW - 60]
    found = held(*(("acme", minute) for minute in around), (ALL_TENANTS, NOW))
    wanted = [NOW - 59, MIDNIGHT - 1, MIDNIGHT, NOW, NOW + 1]
    assert minutes(found, 60) == {"acme": wanted, ALL_TENANTS: [NOW]}


def test_an_old_minute_that_is_asked_for_is_among_them_and_its_neighbours_are_not() -> None:
    old = NOW - 3 * DAY_MINUTES
    found = held(("acme", NOW), ("acme", old), ("acme", old + 1), ("zoo", old + 1), ("zoo", NOW - 1))
    assert minutes(found, 60, old, NOW) == {"acme": [old, NOW], "zoo": [NOW - 1]}


def test_a_tenant_without_a_recent_card_costs_nothing_and_one_that_is_not_listed_has_none() -> None:
    assert minutes(held(("", NOW), ("new", NOW), ("acme", NOW - 61)), 60) == {}
