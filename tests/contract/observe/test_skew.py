"""A change of a watched field raises and resolves an alarm, which survives a restart of observe."""

from collections.abc import Iterator
from pathlib import Path
from typing import Any

import pytest

from tests.contract.management.api_process import ApiProcess
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import recent
from tests.contract.observe.watched import DAY, QUICK, Watched, watching
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


@pytest.fixture
def watched(topics: str) -> Iterator[Watched]:
    with watching(topics) as found:
        yield found


def alarms(observe: ObserveProcess, is_open: bool) -> list[Any]:
    found = observe.get(f"/v1/alarms?tenant=acme&open={str(is_open).lower()}")
    return [each for each in found if each["kind"] == "skew"]


def test_a_field_that_changes_is_an_alarm_until_it_is_as_before(
    watched: Watched, start: Start, dynamodb_local: str, tmp_path: Path
) -> None:
    minute = recent()
    for days in (1, 2, 3):
        watched.put(minute - days * DAY, DE=500, AT=500)
    watched.put(minute, DE=190, AT=10)
    observe = start(**QUICK)
    eventually(lambda: alarms(observe, is_open=True))
    (alarm,) = alarms(observe, is_open=True)
    assert (alarm["audience"], alarm["subject"]) == ("customer", "watching data.country")
    assert "the same hour of the 3 days before: PSI" in alarm["text"]
    assert "'AT' 5.00 %, before 50.00 %" in alarm["text"]

    api = ApiProcess(tmp_path, dynamodb_local, observe_url=observe.url)
    try:
        mine = api.ask("GET", "/v1/tenants/acme/meter/skew", token=api.token("acme", "viewer"))
        assert mine.json == observe.get("/v1/skew?tenant=acme")
        assert [(each["state"], each["events"], each["days"]) for each in mine.json] == [("skewed", 200, 3)]
        assert mine.json[0]["bars"] == [
            {"label": "AT", "now": 0.05, "before": 0.5},
            {"label": "DE", "now": 0.95, "before": 0.5},
        ]
        assert api.ask("GET", "/v1/tenants/zoo/meter/skew").json == []
    finally:
        api.kill()

    watched.put(minute, DE=810, AT=990)
    eventually(lambda: alarms(observe, is_open=False))
    assert not alarms(observe, is_open=True)
    assert [each["state"] for each in observe.get("/v1/skew")] == ["even"]
    counted = 'hifi_observe_watched_events_total{tenant="acme"} 5000.0'
    eventually(lambda: counted in observe.get("/metrics"))


def test_a_comparison_and_its_alarm_outlive_a_restart(watched: Watched, start: Start) -> None:
    minute = recent()
    watched.put(minute - DAY, DE=500, AT=500)
    watched.put(minute, DE=1_000)
    first = start(**QUICK)
    eventually(lambda: alarms(first, is_open=True))
    before = first.get("/v1/skew?tenant=acme")
    first.stop()
    again = start(**QUICK)
    eventually(lambda: again.get("/v1/skew?tenant=acme"))
    assert again.get("/v1/skew?tenant=acme") == before
    assert len(alarms(again, is_open=True)) == 1
