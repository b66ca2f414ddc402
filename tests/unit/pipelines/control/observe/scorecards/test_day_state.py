"""The day card of all tenants is made from all of them, or not at all yet."""

from datetime import timedelta

from pipelines.control.observe.ledger.minute_sums import StageLags
from pipelines.control.observe.scorecards.day_state import DayState, RetiredMinutes
from shared.contracts.documents import WARM_UP
from shared.contracts.ledger import Stage
from shared.contracts.scorecard import ALL_TENANTS, MinuteCard
from shared.contracts.timestamps import day_of

MINUTE = 29_000_000
DAY = day_of(MINUTE)


def retired(bucket: int) -> RetiredMinutes:
    return RetiredMinutes({MINUTE}, {Stage.DELIVERED: StageLags(lag_out={bucket: 10}, inside={bucket: 10})})


RETIRED = {"acme": retired(1), "zoo": retired(100)}


def test_a_day_of_all_tenants_waits_for_the_tenant_that_could_not_be_loaded() -> None:
    days = DayState()
    days.expect([(ALL_TENANTS, MINUTE)])
    days.want(RETIRED, DAY)
    held = {tenant: day for (tenant, _), day in days.unloaded()}
    for tenant in (ALL_TENANTS, "acme", "zoo"):
        card = MinuteCard(tenant=tenant, minute=MINUTE, settled=True, total=10, good=10)
        held[tenant].merge([card], RETIRED.get(tenant, RetiredMinutes()))
        fresh = {card.tenant: card for card in days.refresh({})}
        assert (ALL_TENANTS in fresh) is (tenant == "zoo")
    assert fresh[ALL_TENANTS].end_to_end.p99 == fresh["zoo"].end_to_end.p99


def test_the_lags_of_the_warm_up_are_in_no_day_of_all_tenants() -> None:
    days = DayState()
    days.expect([(ALL_TENANTS, MINUTE)])
    days.want(("acme", WARM_UP), DAY)
    for (tenant, _), held in list(days.unloaded()):
        card = MinuteCard(tenant=tenant, minute=MINUTE, settled=True, total=10, good=10)
        held.merge([card], {"acme": retired(1), WARM_UP: retired(100)}.get(tenant, RetiredMinutes()))
    cards = {card.tenant: card for card in days.refresh({})}
    assert cards[ALL_TENANTS].end_to_end == cards["acme"].end_to_end
    assert cards[ALL_TENANTS].end_to_end != cards[WARM_UP].end_to_end


def test_a_day_without_a_minute_has_no_card_and_is_forgotten_like_others() -> None:
    days = DayState()
    days.expect([("idle", MINUTE)])
    for (tenant, _), held in days.unloaded():
        card = MinuteCard(tenant=tenant, minute=MINUTE, settled=True, total=10, good=10)
        held.merge([] if tenant == "idle" else [card], RetiredMinutes())
    assert [card.tenant for card in days.refresh({})] == [ALL_TENANTS]
    assert days.day_cards.keys() == {(ALL_TENANTS, DAY)}
    days.forget(DAY + timedelta(days=1), ())
    assert days.cards == {}
