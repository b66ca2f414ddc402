"""observe as a process: ledger records in, responses out."""

import time
from functools import partial
from typing import Any

import pytest

from shared.contracts.topics import Topic
from shared.runtime.clock import wall_clock
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import day_of, ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


def test_responses_match_the_tallies(topics: str, start: Start) -> None:
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
    assert observe.get("/v1/minutes?tenant=acme&hops=false") == [card | {"hops": []}]
    assert observe.get(f"/v1/minutes?from={minute + 1}&to={minute + 2}&tenant=acme") == []
    nobody = observe.card(minute, "nobody")
    assert (nobody["tenant"], nobody["minute"], nobody["total"]) == ("nobody", minute, 0)
    idle = observe.get(f"/v1/days/{day_of(minute)}?tenant=idle")
    assert (idle["left"], idle["nines"], idle["minutes"]) == (1.44, None, 0), "no minute of it is spent"

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

    counts_each_pipe(observe, minute)

    def caught_up() -> bool:
        found = observe.get("/v1/now?tenant=acme")
        return not found["behind"] and found["behind_seconds"] < 5

    eventually(caught_up)
    assert observe.get("/v1/now?tenant=acme")["loss_percent"] == 0
    destinations = {each["name"]: each for each in observe.get("/v1/destinations?tenant=acme")}
    assert {name: each["delivered"] for name, each in destinations.items()} == {"to-p": 40, "to-q": 40}
    for line in (
        'hifi_observe_destination_delivered_total{destination="to-p",tenant="acme"} 40.0',
        'hifi_observe_sli{tenant="acme"} 1.0',
        "hifi_observe_ready 1.0",
    ):
        eventually(partial(exposes, observe, line), what=line)


def counts_each_pipe(observe: ObserveProcess, minute: int) -> None:
    pipe = observe.get(f"/v1/pipes/p?tenant=acme&from={minute}")
    whose = {"tenant": "acme", "pipe": "p", "first": minute}
    assert pipe.pop("last") >= minute and pipe == whose | {"events": 40, "good": 40, "dead": 0}
    assert observe.get(f"/v1/pipes/p?tenant=zoo&from={minute}")["events"] == 0
    assert observe.get(f"/v1/pipes/p?tenant=acme&from={minute + 60}")["events"] == 0, "in the future"


def exposes(observe: ObserveProcess, line: str) -> bool:
    return line in observe.get("/metrics")


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

    places = observe.get("/v1/events/e3?tenant=acme")["places"]
    assert [place["topic"] for place in places].count("receipts") == 2
    assert {place["node"] for place in places} == {"collect", "ingest", "route", "transmit"}
    assert observe.get("/v1/events/e3?tenant=nobody") == {"places": [], "complete": True}


@pytest.mark.parametrize(
    ("settle", "seconds"), [("0.3", 1.5), pytest.param("1", 3.0, marks=pytest.mark.proof)]
)
def test_nothing_is_lost_while_a_node_has_still_to_read_it(
    topics: str, start: Start, settle: str, seconds: float
) -> None:
    minute, side = recent(), Side(topics)
    side.read()
    side.collected(ids(0, 10), minute)
    side.each(Topic.EVENTS, ids(0, 4), minute)
    side.audit()
    observe = start(settle_seconds=settle)
    eventually(lambda: observe.card(minute)["collected"] == 10)
    time.sleep(seconds)  # longer than the settle time, so a wrong verdict would show
    card = observe.card(minute)
    assert (card["lost"], card["under_way"]) == (0, 10)
    side.read()
    eventually(lambda: observe.card(minute)["lost"] == 10)


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
    eventually(lambda: "unreadable ledger record" in observe.log.read_text())


def test_a_bad_parameter_is_named(asked: ObserveProcess) -> None:
    for path, field in {
        "/v1/now?tenant=": "tenant",
        "/v1/minutes?from=x": "from",
        "/v1/minutes?from=5&to=4": "from",
        "/v1/minutes?from=1&to=9999": "1,440",
        "/v1/minutes?hops=none": "hops",
        "/v1/minutes/-1": "minute",
        "/v1/minutes/99999999999999": "minute",
        "/v1/days/2026-02-30": "YYYY-MM-DD",
        "/v1/calendar?days=0": "days",
        "/v1/calendar/today": "day",
        "/v1/calendar/1969-12-31": "day",
        "/v1/alarms?open=maybe": "open",
        "/v1/events/e1?since=-3": "since",
    }.items():
        status, found = asked.ask(path)
        assert status == 400, path
        assert field in found["error"], path


def test_other_errors_of_requests_are_reported(asked: ObserveProcess) -> None:
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
