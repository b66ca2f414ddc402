"""`hifi scorecard`, `hifi trace` and `hifi destinations` as a user runs them, against a real observe."""

import json
from pathlib import Path
from typing import Any

import pytest

from shared.contracts import headers as h
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.topics import Topic
from tests.contract.observe.conftest import Start
from tests.contract.observe.minutes import day_of, ids, recent, settled
from tests.contract.observe.side import Side
from tests.harness.command_line import Done, Hifi, HifiProcess
from tests.harness.topics import Topics, pipe_to
from tests.harness.waiting import eventually, free_port


def hifi(url: str, folder: Path, *arguments: str) -> Done:
    return Hifi(folder, {"HIFI_OBSERVE_URL": url}).run(*arguments)


def test_scorecard_and_trace_say_what_observe_answers(topics: str, start: Start, tmp_path: Path) -> None:
    minute, side = recent(), Side(topics)
    side.whole(ids(0, 20), minute, "p")
    odd = "a/b c?#%é"
    side.collected([odd], minute)  # in the chain's order: a trace is sorted by the records' timestamps
    side.each(Topic.EVENTS, [odd], minute, **{h.CE_TIME: "2026-01-01T00:00:00Z"})
    side.outbound([odd], minute, "p")
    side.receipt([odd], minute, "p")
    side.read()
    side.audit()
    observe = start()
    settled(observe, minute)

    day = day_of(minute)
    eventually(lambda: observe.get(f"/v1/days/{day}?tenant=acme")["minutes"] == 1)
    process = HifiProcess(tmp_path, {"HIFI_OBSERVE_URL": observe.url})
    done = process.run("scorecard", "--day", day, "--tenant", "acme", "--json")
    assert done.returncode == 0, done.stderr
    card = json.loads(done.stdout)
    assert card == observe.get(f"/v1/days/{day}?tenant=acme")
    shown = hifi(observe.url, tmp_path, "scorecard", "--day", day, "--tenant", "acme").stdout
    assert "21 collected, 0 late" in shown
    assert f"{card['total']:,} owed, {card['delivered']:,} made, {card['good']:,} within a second" in shown
    assert "0 events, 0.00 %" in shown
    assert "0 sent twice, 0 replayed after a rollback" in shown
    assert "transmit > p" in shown

    for event_id in ("e7", odd):
        traced = hifi(observe.url, tmp_path, "trace", event_id, "--json")
        assert traced.returncode == 0, traced.stderr
        places = json.loads(traced.stdout)
        assert [place["topic"] for place in places] == ["collected", "events", "outbound", "receipts"]
        assert places[-1]["result"] == "delivered"
        text = hifi(observe.url, tmp_path, "trace", event_id)
        assert all(f"{p['topic']}/{p['partition']}/{p['offset']}" in text.stdout for p in places)
        assert "delivered at to-p" in text.stderr


@pytest.mark.proof
def test_errors_of_queries_name_the_fix(topics: str, start: Start, tmp_path: Path) -> None:
    observe = start()
    wrong_day = hifi(observe.url, tmp_path, "scorecard", "--day", "yesterday")
    assert (wrong_day.returncode, "YYYY-MM-DD" in wrong_day.stderr) == (1, True)
    unknown = hifi(observe.url, tmp_path, "trace", "never-sent")
    assert (unknown.returncode, "no record of 'never-sent'" in unknown.stderr) == (1, True)
    wrong_time = hifi(observe.url, tmp_path, "trace", "x", "--since", "long ago")
    assert (wrong_time.returncode, "90s, 15m" in wrong_time.stderr) == (2, True)
    nobody = hifi(f"http://127.0.0.1:{free_port()}", tmp_path, "scorecard")
    assert (nobody.returncode, "hifi doctor" in nobody.stderr) == (1, True)


def test_destinations_show_failed_and_waiting_events_also_before_the_first_one(
    topics: str, start: Start, tmp_path: Path
) -> None:
    minute, side = recent(), Side(topics)
    Topics(topics).publish(*pipe_to("p", "http://127.0.0.1:9/"), *pipe_to("idle", "http://127.0.0.1:9/"))
    old = minute - 120
    side.collected(ids(0, 3), old)
    side.each(Topic.EVENTS, ids(0, 3), old)
    side.outbound(ids(0, 3), old, "p")
    side.receipt(ids(0, 3), old, "p", "retry")
    side.each(
        Topic.RETRY_IN_1H, ids(0, 3), old, **{h.PIPE: "p", h.NOT_BEFORE: str((minute + 60) * MINUTE_MS)}
    )
    side.whole(ids(10, 40), minute, "p")
    side.collected(ids(40, 50), minute)
    side.each(Topic.EVENTS, ids(40, 50), minute)
    side.outbound(ids(40, 50), minute, "p")
    side.receipt(ids(40, 50), minute, "p", "dead", inside_ms=500)
    side.each(Topic.DEAD_LETTER, ids(40, 50), minute, **{h.PIPE: "p"})
    side.read()
    side.audit()
    observe = start()
    wanted = {"delivered": 30, "failed": 10, "waiting": 3}

    def counted() -> bool:
        """Whether observe has counted all of the destination's records, which come in several batches."""
        known = {each["name"]: each for each in observe.get("/v1/destinations")}
        return len(known) == 3 and known["to-p"].items() >= wanted.items()

    eventually(counted)

    def listed(*arguments: str) -> dict[str, dict[str, Any]]:
        done = hifi(observe.url, tmp_path, "destinations", *arguments, "--json")
        assert done.returncode == 0, done.stderr
        return {each["name"]: each for each in json.loads(done.stdout)}

    found = listed()["to-p"]
    assert (found["delivered"], found["failed"], found["waiting"]) == (30, 10, 3)
    assert (found["last_error"], found["health"], found["pipes"]) == ("503 busy", "failing", ["p"])
    assert found["oldest_waiting_ms"] == old * MINUTE_MS
    assert listed("idle")["idle"]["health"] == "idle"
    assert list(listed("--tenant", "acme")) == ["to-p"]
    table = hifi(observe.url, tmp_path, "destinations", "to-p").stdout
    assert "75.0 %" in table and "2h0" in table and "503 busy" in table, table
    unknown = hifi(observe.url, tmp_path, "destinations", "nobody")
    assert (unknown.returncode, "no destination 'nobody'" in unknown.stderr) == (1, True)
