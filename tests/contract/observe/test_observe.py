"""observe as a process: ledger records in, answers out."""

import time
from datetime import UTC, datetime
from pathlib import Path
from typing import Any

import pytest

from scripts.local.kafka.cluster import Cluster
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from tests.conftest import delete_records
from tests.contract.observe.conftest import Start
from tests.contract.observe.side import Side
from tests.harness.local_aws import local_aws
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


def ids(start: int, end: int) -> list[str]:
    return [f"e{number}" for number in range(start, end)]


def recent() -> int:
    """A minute that is over, of the day that it is now: a test near midnight waits no day."""
    return wall_clock() // MINUTE_MS - 2


def day_of(minute: int) -> str:
    return datetime.fromtimestamp(minute * 60, UTC).date().isoformat()


def settled(observe: ObserveProcess, minute: int, tenant: str = "acme") -> Any:
    """A minute's card once it is settled."""
    eventually(lambda: observe.card(minute, tenant)["settled"])
    return observe.card(minute, tenant)


def test_answers_are_what_was_tallied(topics: str, start: Start) -> None:
    minute, side, other = recent(), Side(topics), Side(topics, "zoo")
    side.whole(ids(0, 40), minute, "p", "q")
    side.collected(ids(40, 50), minute)
    side.each(Topic.EVENTS, ids(40, 50), minute)
    side.each(Topic.UNMATCHED, ids(40, 50), minute)
    other.whole(ids(0, 6), minute, "z")
    side.read()
    other.flush()
    side.audit()
    observe = start()
    card = settled(observe, minute)
    wanted = {"collected": 50, "unmatched": 10, "total": 80, "good": 80, "delivered": 80, "lost": 0}
    assert {name: card[name] for name in wanted} == wanted
    assert card["sli"] == 1.0 and not card["spent"]
    assert card["end_to_end"]["p95"] == pytest.approx(200, rel=0.02)
    assert observe.get("/v1/tenants") == ["acme", "zoo"]
    everyone = settled(observe, minute, "*")
    assert (everyone["collected"], everyone["total"], everyone["good"]) == (56, 86, 86)

    assert observe.get(f"/v1/minutes?from={minute - 5}&to={minute}&tenant=acme") == [card]
    assert observe.get("/v1/minutes?tenant=acme") == [card], "the last hour"
    assert observe.get(f"/v1/minutes?from={minute + 1}&to={minute + 2}&tenant=acme") == []
    nobody = observe.card(minute, "nobody")
    assert (nobody["tenant"], nobody["minute"], nobody["total"]) == ("nobody", minute, 0)

    day = eventually(lambda: observe.get(f"/v1/days/{day_of(minute)}?tenant=acme"))
    eventually(lambda: observe.get(f"/v1/days/{day_of(minute)}?tenant=acme")["minutes"] == 1)
    day = observe.get(f"/v1/days/{day_of(minute)}?tenant=acme")
    assert (day["total"], day["good"], day["nines"], day["spent"]) == (80, 80, 9.0, [])
    assert day["end_to_end"] == card["end_to_end"], "of the day's only minute"
    marks = observe.get(f"/v1/calendar/{day_of(minute)}?tenant=acme")
    assert [(mark["minute"], mark["total"]) for mark in marks] == [(minute, 80)]
    calendar = observe.get("/v1/calendar?tenant=acme&days=3")
    assert len(calendar) == 3
    (mark,) = [mark for mark in calendar if mark["minutes"]]
    assert (mark["day"], mark["spent"], mark["nines"]) == (day_of(minute), 0, 9.0)

    now = observe.get("/v1/now?tenant=acme")
    assert not now["behind"] and now["behind_seconds"] < 5
    assert now["loss_percent"] == 0
    destinations = {each["name"]: each for each in observe.get("/v1/destinations?tenant=acme")}
    assert {name: each["delivered"] for name, each in destinations.items()} == {"to-p": 40, "to-q": 40}
    metrics = observe.get("/metrics")
    assert 'hifi_observe_destination_delivered_total{destination="to-p"} 40.0' in metrics
    assert 'hifi_observe_sli{tenant="acme"} 1.0' in metrics
    assert "hifi_observe_ready 1.0" in metrics


def test_lost_and_doubled_events_are_named_where_they_can_be_read(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.collected(ids(0, 20), minute)
    side.each(Topic.EVENTS, ids(0, 18), minute)
    side.outbound(ids(0, 18), minute, "p")
    side.receipt(ids(0, 18), minute, "p")
    side.receipt(ids(3, 4), minute, "p")
    side.read()
    side.audit()
    observe = start()

    def named() -> Any:
        hops = [hop for hop in observe.card(minute)["hops"] if hop.get("named")]
        return hops if len(hops) == 2 and all(e.get("id") for hop in hops for e in hop["named"]) else None

    hops = {hop["node"]: hop for hop in eventually(named)}
    assert {hop["lost"] for hop in hops.values()} == {2, 0}
    lost = {event["id"]: event for event in hops["ingest"]["named"]}
    assert set(lost) == {"e18", "e19"}
    assert all(event["topic"] == "collected" and event["offset"] >= 0 for event in lost.values())
    (doubled,) = hops["transmit"]["named"]
    assert (doubled["id"], doubled["times"], doubled["topic"]) == ("e3", -1, "receipts")
    card = settled(observe, minute)
    assert (card["lost"], card["doubled"], card["spent"]) == (2, 1, True)
    eventually(
        lambda: any(alarm["kind"] == "loss" for alarm in observe.get("/v1/alarms?tenant=acme&open=true"))
    )
    eventually(
        lambda: 'hifi_observe_lost_events_total{node="ingest",tenant="acme"} 2.0' in observe.get("/metrics")
    )

    places = observe.get("/v1/events/e3?tenant=acme")
    assert [place["topic"] for place in places].count("receipts") == 2
    assert {place["node"] for place in places} == {"collect", "ingest", "route", "transmit"}
    assert observe.get("/v1/events/e3?tenant=nobody") == []


def test_nothing_is_lost_while_a_node_has_still_to_read_it(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.read()
    side.collected(ids(0, 10), minute)
    side.each(Topic.EVENTS, ids(0, 4), minute)
    side.audit()
    observe = start()
    eventually(lambda: observe.card(minute)["collected"] == 10)
    time.sleep(3)  # longer than the settle time, so a wrong verdict would show
    card = observe.card(minute)
    assert (card["lost"], card["under_way"]) == (0, 10)
    side.read()
    eventually(lambda: observe.card(minute)["lost"] == 10)


@pytest.mark.proof
def test_a_restart_in_the_middle_changes_no_card(topics: str, start: Start) -> None:
    """One continues after a stop and after a kill; another starts with an empty store and reads all."""
    minute, side = recent() - 1, Side(topics)

    def more(turn: int) -> None:
        """Ten events, one of them lost and one delivered twice."""
        new = ids(turn * 10, turn * 10 + 10)
        side.collected(new, minute)
        side.each(Topic.EVENTS, new[1:], minute)
        side.outbound(new[1:], minute, "p", "q")
        side.receipt(new[1:], minute, "p")
        side.receipt([*new[1:], new[5]], minute + turn % 2, "q")
        side.read()
        side.audit()

    more(0)
    observe = start()
    eventually(lambda: observe.card(minute)["collected"] == 10)
    assert observe.stop() == 0
    more(1)
    observe = start(store_seconds="3600")
    eventually(lambda: observe.card(minute)["collected"] == 20)
    more(2)
    eventually(lambda: observe.card(minute)["collected"] == 30)
    observe.kill()
    more(3)
    observe = start()
    mine = eventually(lambda: judged(observe, minute))
    day = observe.get(f"/v1/days/{day_of(minute)}?tenant=acme")
    fresh = start(store_table="fresh")
    assert eventually(lambda: judged(fresh, minute)) == mine
    eventually(lambda: fresh.get(f"/v1/days/{day_of(minute)}?tenant=acme") == day, 10)


def judged(observe: ObserveProcess, minute: int) -> Any:
    """The cards of two minutes, once four events are lost and all are named."""
    cards = observe.get(f"/v1/minutes?tenant=acme&from={minute}&to={minute + 1}")
    named = [event for card in cards for hop in card["hops"] for event in hop.get("named", [])]
    done = len(cards) == 2 and all(card["settled"] for card in cards) and cards[0]["lost"] >= 4
    if not (done and all(event.get("id") for event in named)):
        return None
    return cards, observe.get(f"/v1/minutes?from={minute}&to={minute + 1}")


def test_the_meter_says_that_it_is_behind_when_audit_stands_still(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    observe = start(behind_seconds="2")
    assert not observe.get("/v1/now")["behind"]
    side.collected(ids(0, 3), minute)
    side.flush()
    eventually(lambda: observe.get("/v1/now")["behind"])
    assert observe.get("/v1/now")["behind_seconds"] > 2
    assert "hifi_observe_behind_seconds 0.0" not in observe.get("/metrics")
    side.audit()
    eventually(lambda: not observe.get("/v1/now")["behind"])


def test_an_unreadable_ledger_record_is_passed_over(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.rubbish(b"\xc1 no range")
    side.whole(ids(0, 3), minute, "p")
    ranges = side.audit()
    for found in ranges:
        side.put(found)  # as audit does after a restart
    side.flush()
    observe = start()
    eventually(lambda: observe.card(minute)["collected"])
    assert observe.card(minute)["collected"] == 3
    assert "unreadable ledger record" in observe.log.read_text()


def test_a_bad_parameter_is_named(asked: ObserveProcess) -> None:
    for path, field in {
        "/v1/now?tenant=": "tenant",
        "/v1/minutes?from=x": "from",
        "/v1/minutes?from=5&to=4": "from",
        "/v1/minutes?from=1&to=9999": "1,440",
        "/v1/minutes/-1": "minute",
        "/v1/minutes/99999999999999": "minute",
        "/v1/days/2026-02-30": "YYYY-MM-DD",
        "/v1/calendar?days=0": "days",
        "/v1/calendar/today": "day",
        "/v1/alarms?open=maybe": "open",
        "/v1/events/e1?since=-3": "since",
    }.items():
        status, found = asked.ask(path)
        assert status == 400, path
        assert field in found["error"], path


def test_other_mistakes_are_told_as_well(asked: ObserveProcess) -> None:
    status, found = asked.ask("/v1/nothing")
    assert (status, found["error"]) == (404, "path: there is nothing at /v1/nothing")
    status, found = asked.ask("/v1/now", "POST")
    assert status == 405 and "POST" in found["error"]
    for body in ("", "[]", '{"from_ms": 1}', '{"from_ms":5,"until_ms":4,"reason":"x"}'):
        status, found = asked.ask("/v1/quiet", "POST", body)
        assert status == 400 and ("body" in found["error"] or "until_ms" in found["error"]), found


def test_quiet_windows_come_and_go(asked: ObserveProcess) -> None:
    now = wall_clock()
    body = f'{{"tenant":"acme","from_ms":{now},"until_ms":{now + 600_000},"reason":"moving"}}'
    status, window = asked.ask("/v1/quiet", "POST", body)
    assert status == 201 and window["id"]
    assert asked.get("/v1/quiet?tenant=acme") == [window]
    assert asked.get("/v1/quiet?tenant=zoo") == []
    assert asked.ask(f"/v1/quiet/{window['id']}", "DELETE")[0] == 204
    assert asked.ask(f"/v1/quiet/{window['id']}", "DELETE")[0] == 404
    assert asked.get("/v1/quiet") == []


@pytest.mark.proof
def test_brokers_that_go_and_come_back_are_waited_for(topics: str, brokers: Cluster, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    observe = start(behind_seconds="3")
    settled(observe, minute)
    for number in (1, 2, 3):
        brokers.kill(number)
    try:
        eventually(lambda: observe.get("/v1/now")["behind"], 60)
        assert not observe.ready()
        assert observe.card(minute)["total"] == 5, "it must still answer"
        assert observe.ask("/v1/events/e1")[0] == 503
        away = start(wait=False)
        eventually(lambda: "not started yet" in away.log.read_text())
        began = time.monotonic()
        assert away.stop() == 0
        assert time.monotonic() - began < 5
    finally:
        for number in (1, 2, 3):
            brokers.start(number)
        brokers.wait_healthy()
    side.whole(ids(5, 9), minute, "p")
    side.read()
    side.audit()
    eventually(lambda: observe.ready() and observe.card(minute)["collected"] == 9, 90)
    eventually(lambda: not observe.get("/v1/now")["behind"])
    lines = [line for line in observe.log.read_text().splitlines() if line]
    assert all(line.startswith("{") for line in lines), [line for line in lines if line[0] != "{"][:3]


def test_it_stops_soon_and_the_next_one_knows_what_it_knew(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    observe = start(store_seconds="3600")
    card = settled(observe, minute)
    began = time.monotonic()
    assert observe.stop() == 0, observe.log.read_text()
    assert time.monotonic() - began < 5
    again = start()
    assert settled(again, minute) == card
    assert '"minutes": 1' in again.log.read_text(), "from the store, not from the ledger"


@pytest.mark.proof
def test_a_ledger_that_was_cut_goes_on_where_it_begins(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    observe = start()
    card = settled(observe, minute)
    assert observe.stop() == 0
    side.whole(ids(5, 9), minute, "p")
    side.audit()
    delete_records(topics)
    again = start()
    assert settled(again, minute) == card
    side.whole(ids(9, 11), minute, "p")
    side.read()
    side.audit()
    eventually(lambda: again.card(minute)["collected"] == 7)


def test_a_store_that_is_away_is_waited_for_and_then_written(topics: str, tmp_path: Path) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    with local_aws() as url:
        port = int(url.rpartition(":")[2])
    observe = ObserveProcess(topics, f"http://127.0.0.1:{port}", tmp_path / "log")
    try:
        eventually(lambda: "not started yet" in observe.log.read_text())
        assert not observe.ready()
        with local_aws(port):
            eventually(observe.ready)
            card = settled(observe, minute)
        side.whole(ids(5, 9), minute, "p")
        side.read()
        side.audit()
        eventually(lambda: observe.card(minute)["collected"] == 9)
        eventually(lambda: "state not stored" in observe.log.read_text())
        assert observe.card(minute)["total"] == 9, "it must continue"
        assert card["collected"] == 5
    finally:
        assert observe.stop() == 0
