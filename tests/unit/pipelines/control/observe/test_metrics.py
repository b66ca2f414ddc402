"""The series of destinations that come and go."""

import pytest
from prometheus_client import generate_latest

from pipelines.control.observe.health.snapshot import Snapshot
from pipelines.control.observe.metrics import DELETED_MS, ObserveMetrics
from pipelines.control.observe.scorecards.day_state import DayState
from shared.contracts.documents import TenantName
from shared.contracts.ledger import Range, Stage, Tally
from shared.contracts.scorecard import MinuteCard
from shared.contracts.timestamps import DAY_MINUTES
from shared.contracts.topics import Topic
from shared.runtime.metrics import ObserveMetric

MINUTE_MS = 60_000
MIDNIGHT = 29_000_000 // DAY_MINUTES * DAY_MINUTES


def counted(destination: str, stage: Stage) -> Range:
    tally = Tally(stage=stage, tenant="acme", minute=1, destination=destination, count=1, first=0, last=0)
    return Range(topic=Topic.RECEIPTS, partition=0, start=0, end=1, newest_ms=1, tallies=[tally])


def series(metrics: ObserveMetrics) -> list[str]:
    lines = generate_latest(metrics.registry).decode().splitlines()
    names = (f"{ObserveMetric.DELIVERED}_total{{", f"{ObserveMetric.FAILED}_total{{")
    return [each for each in lines if each.startswith(names)]


def test_deleted_destinations_leave_no_series_once_they_were_scraped_for_a_while() -> None:
    metrics, steady = ObserveMetrics(Snapshot, dict), "steady"
    metrics.count_range(counted(steady, Stage.DELIVERED), 0)
    for minute in range(1_000):
        now_ms, name = minute * MINUTE_MS, f"run-{minute}"
        metrics.count_range(counted(name, Stage.DELIVERED), now_ms)
        metrics.count_range(counted(name, Stage.DEAD), now_ms)
        there: set[TenantName] = {("acme", steady)}
        metrics.forget_deleted(there, now_ms)
        if minute % 100 == 0:
            found = series(metrics)
            assert sum(name in each for each in found) == 2, "deleted, and not scraped yet"
            assert len(found) <= 1 + 2 * (DELETED_MS / MINUTE_MS + 1)
    assert sum(steady in each for each in series(metrics)) == 1, "an idle destination keeps its count"


def test_before_the_first_look_there_is_no_figure_of_events_but_how_far_behind_the_meter_is() -> None:
    exposed = exposed_of(Snapshot(behind=True, behind_seconds=90.0))
    assert f"{ObserveMetric.BEHIND_SECONDS} 90.0" in exposed
    after = exposed_of(Snapshot(at_ms=MINUTE_MS))
    for name in (ObserveMetric.EVENTS_PER_SECOND, ObserveMetric.LOSS_PERCENT, ObserveMetric.MINUTES_SPENT):
        series_of_all = f'{name}{{tenant="*"}} 0.0'
        assert series_of_all not in exposed
        assert series_of_all in after


def exposed_of(found: Snapshot) -> str:
    return generate_latest(ObserveMetrics(lambda: found, dict).registry).decode()


@pytest.mark.parametrize("since_midnight", [0, 1, DAY_MINUTES - 1])
def test_the_sli_is_that_of_the_last_settled_minute_also_after_midnight(since_midnight: int) -> None:
    days, now = DayState(), MIDNIGHT + since_midnight
    days.take(
        [
            MinuteCard(tenant="acme", minute=MIDNIGHT - 2, settled=True, sli=1.0),
            MinuteCard(tenant="acme", minute=MIDNIGHT - 1, settled=True, sli=0.75),
            MinuteCard(tenant="acme", minute=MIDNIGHT, settled=False, sli=0.25),
            MinuteCard(tenant="old", minute=MIDNIGHT - 1 - DAY_MINUTES, settled=True, sli=0.75),
        ]
    )
    exposed = exposed_of(Snapshot(at_ms=now * MINUTE_MS, cards=days.cards, tenants=("acme", "old")))
    assert f'{ObserveMetric.SLI}{{tenant="acme"}} 0.75' in exposed
    assert f'{ObserveMetric.SLI}{{tenant="old"}}' not in exposed


def test_how_late_retry_is_has_a_series_for_each_waiting_topic() -> None:
    exposed = exposed_of(Snapshot(overdue={"retry_in.5m": 211.5, "retry_in.1h": 0}))
    assert f'{ObserveMetric.OVERDUE}{{topic="retry_in.5m"}} 211.5' in exposed
    assert f'{ObserveMetric.OVERDUE}{{topic="retry_in.1h"}} 0.0' in exposed
