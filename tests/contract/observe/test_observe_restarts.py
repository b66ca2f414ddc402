"""observe continues after restarts, and without brokers, store or audit."""

from pathlib import Path
from typing import Any

import pytest

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import Topic
from tests.conftest import delete_records
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import day_of, ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.broker_faults import wait_healthy
from tests.harness.local_aws import local_aws
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually


@pytest.mark.proof
def test_a_restart_in_the_middle_changes_no_card(topics: str, start: Start) -> None:
    """One process continues after a stop and a kill; another starts with an empty store and reads all."""
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
    eventually(lambda: fresh.get(f"/v1/days/{day_of(minute)}?tenant=acme") == day, 60)


def judged(observe: ObserveProcess, minute: int) -> Any:
    """The cards of two minutes, once four events are lost and all of them are named."""
    cards = observe.get(f"/v1/minutes?tenant=acme&from={minute}&to={minute + 1}")
    named = [event for card in cards for hop in card["hops"] for event in hop.get("named", [])]
    done = len(cards) == 2 and all(card["settled"] for card in cards) and cards[0]["lost"] >= 4
    if not (done and all(event.get("id") for event in named)):
        return None
    return cards, observe.get(f"/v1/minutes?from={minute}&to={minute + 1}")


def test_the_meter_says_that_it_is_behind_when_audit_stands_still(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    observe = start(behind_seconds="2")
    eventually(lambda: not observe.get("/v1/now")["behind"])
    side.collected(ids(0, 3), minute)
    side.flush()
    eventually(lambda: (now := observe.get("/v1/now"))["behind"] and now["behind_seconds"] > 2)
    eventually(lambda: "hifi_observe_behind_seconds 0.0" not in observe.get("/metrics"))
    side.audit()
    eventually(lambda: not observe.get("/v1/now")["behind"])


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
        assert away.stop() == 0
    finally:
        for number in (1, 2, 3):
            brokers.start(number)
        wait_healthy(brokers)
    side.whole(ids(5, 9), minute, "p")
    side.read()
    side.audit()
    eventually(lambda: observe.ready() and observe.card(minute)["collected"] == 9, 90)
    eventually(lambda: not observe.get("/v1/now")["behind"])
    lines = [line for line in observe.log.read_text().splitlines() if line]
    assert all(line.startswith("{") for line in lines), [line for line in lines if line[0] != "{"][:3]


def test_it_stops_in_time_and_the_next_process_has_its_state(topics: str, start: Start) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 5), minute, "p")
    side.read()
    side.audit()
    observe = start(store_seconds="3600")
    card = settled(observe, minute)
    assert observe.stop() == 0, observe.log.read_text()
    again = start()
    assert settled(again, minute) == card
    assert '"minutes": 1' in again.log.read_text(), "from the store, not from the ledger"


def test_a_late_minute_stays_late_after_a_restart_while_audit_is_behind(topics: str, start: Start) -> None:
    """Its events are not in time until the next process knows how far audit is."""
    minute, side = recent(), Side(topics)
    side.collected(ids(0, 10), minute)
    side.each(Topic.EVENTS, ids(0, 10), minute)
    side.outbound(ids(0, 5), minute, "p")
    side.receipt(ids(0, 5), minute, "p")
    side.audit()
    observe = start()
    wanted = {"spent": True, "delivered": 5, "under_way": 5, "in_time": 0}
    card = eventually(lambda: (now := observe.card(minute)).items() >= wanted.items() and now)
    assert observe.stop() == 0
    side.collected(ids(10, 11), minute + 1)
    side.flush()  # without being read by audit
    again = start()
    eventually(lambda: again.get("/v1/now")["behind_seconds"] > 0)
    assert again.card(minute) == card


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
        # Its records come in several batches.
        eventually(
            lambda: (now := observe.card(minute))["collected"] == now["total"] == 9, what="it continues"
        )
        eventually(lambda: "state not stored" in observe.log.read_text())
        assert card["collected"] == 5
    finally:
        assert observe.stop() == 0
