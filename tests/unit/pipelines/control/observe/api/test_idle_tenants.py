"""Requests for a tenant without events today are answered from memory: pages poll every few seconds."""

from datetime import date, timedelta
from typing import Any

import pytest

from pipelines.control.observe.api.queries import Queries
from pipelines.control.observe.health.snapshot import Snapshot
from pipelines.control.observe.scorecards.day_cards import day_card
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.scorecard import ALL_TENANTS, DayCard, MinuteCard
from shared.contracts.timestamps import day_of
from shared.dynamodb.client import StoreError

MINUTE = 29_000_000
TODAY = day_of(MINUTE)


class AwayStore:
    """Tables that do not answer."""

    def day(self, tenant: str, day: date) -> DayCard | None:
        raise StoreError(f"asked for {tenant} of {day}")

    def cards(self, tenant: str, first: int, last: int) -> list[MinuteCard]:
        raise StoreError(f"asked for {tenant} from {first} to {last}")


def queries(found: Snapshot) -> Queries:
    none: Any = None
    away: Any = AwayStore()
    return Queries(lambda: found, away, none, none, lambda: MINUTE * MINUTE_MS, register=none, timeline=none)


JUDGED = Snapshot(
    at_ms=MINUTE * MINUTE_MS,
    cards={(ALL_TENANTS, TODAY): {}, ("new", TODAY): {}},
    days={(ALL_TENANTS, TODAY): day_card(ALL_TENANTS, TODAY, (), {})},
)
"""`new` has its first events of the day, and its part in the store is not loaded yet."""


def test_a_tenant_without_events_today_needs_no_store() -> None:
    asked = queries(JUDGED)
    assert asked.day("idle", TODAY) == day_card("idle", TODAY, (), {})
    assert asked.minutes("idle", MINUTE - 5, MINUTE) == []


@pytest.mark.parametrize(
    ("found", "tenant", "day"),
    [
        (JUDGED, "idle", TODAY - timedelta(days=1)),
        (JUDGED, "new", TODAY),
        (Snapshot(behind=True), "idle", TODAY),
    ],
    ids=["another day", "events that are being loaded", "before the first look"],
)
def test_what_memory_may_not_have_is_asked_of_the_store(found: Snapshot, tenant: str, day: date) -> None:
    with pytest.raises(StoreError, match=f"asked for {tenant}"):
        queries(found).day(tenant, day)
