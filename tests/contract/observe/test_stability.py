"""observe reports its side's stability and activities, and silences lag alarms meanwhile."""

import time
from http import HTTPStatus
from pathlib import Path

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.activity_register import ActivityRegister, Waits
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import wall_clock
from tests.contract.observe.conftest import Start
from tests.contract.observe.side import Side
from tests.harness.command_line import Hifi
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually

TABLE = "documents"
STABLE = Stability(stable=True)
LONG = 600.0
"""Lease of an activity without heartbeats, seconds: longer than a test on a busy machine."""


def _register(url: str, owner: str) -> ActivityRegister:
    return ActivityRegister(TABLE, url, side=LOCAL, owner=owner, clock=wall_clock, monotonic=time.monotonic)


def _listens(observe: ObserveProcess) -> bool:
    try:
        return observe.request("GET", "/healthz").status == 200
    except OSError:
        return False


def _reasons(observe: ObserveProcess) -> tuple[list[str], list[str]] | None:
    """Reasons of activities and of wishes; None while observe has not read the register."""
    status, found = observe.ask("/v1/activities")
    if status != HTTPStatus.OK:
        return None
    return [each["reason"] for each in found["activities"]], [each["reason"] for each in found["wishes"]]


def test_a_side_with_a_lost_event_is_not_stable_and_says_why(start: Start, topics: str) -> None:
    observe, side = start(), Side(topics)
    eventually(lambda: observe.get("/v1/stability")["stable"])
    minute = wall_clock() // MINUTE_MS - 5
    side.whole([f"e{n}" for n in range(20)], minute, "first")
    side.collected(["lost"], minute)
    side.read()
    side.audit()

    def says(start: str) -> bool:
        return any(reason.startswith(start) for reason in observe.get("/v1/stability")["reasons"])

    eventually(lambda: says(f"minute {minute} of acme: ") and says("alarm loss: "), 60)
    assert not observe.get(f"/v1/stability?from={minute}")["stable"]
    assert observe.get(f"/v1/stability?from={minute + 1}")["stable"], "of other code than it has now"


def test_an_observer_that_cannot_judge_does_not_call_its_side_stable(topics: str, tmp_path: Path) -> None:
    observe = ObserveProcess(topics, "http://127.0.0.1:9", tmp_path / "observe.log")
    try:
        eventually(lambda: _listens(observe))
        found = observe.get("/v1/stability")
        assert (found["stable"], found["silent"]) == (False, True), found
    finally:
        observe.kill()


def test_what_is_under_way_is_listed_and_keeps_lag_alarms_quiet(start: Start, store_url: str) -> None:
    DocumentTable(TABLE, store_url).ensure()
    observe = start(documents_table=TABLE, documents_endpoint=store_url)
    deployer, provisioner = _register(store_url, "deployer-1"), _register(store_url, "provisioner-1")
    step = provisioner.begin(Action.ROLLOUT_STEP, "pipe orders to 10 %", STABLE, lease_seconds=LONG)
    assert isinstance(step, Activity)
    waits = deployer.begin(Action.REPLACE_CODE, "release 2", STABLE, lease_seconds=LONG)
    assert isinstance(waits, Waits)
    eventually(lambda: _reasons(observe) == (["pipe orders to 10 %"], ["release 2"]))
    assert observe.get("/v1/quiet") == [], "a ramp step is quiet by itself"
    provisioner.end(step)
    release = deployer.begin(Action.REPLACE_CODE, "release 2", STABLE, lease_seconds=LONG)
    assert isinstance(release, Activity)
    eventually(lambda: observe.get("/v1/quiet"))
    (window,) = observe.get("/v1/quiet")
    assert window["reason"] == "deployer: replace code (release 2)"
    assert sorted(window["kinds"]) == ["backlog", "burn", "silent", "stalled"]
    deployer.end(release)
    eventually(lambda: observe.get("/v1/activities") == {"activities": [], "wishes": []})
    assert observe.get("/v1/quiet")[0]["until_ms"] < wall_clock() + 5 * MINUTE_MS + 1, (
        "its minutes are judged later"
    )


def test_without_a_table_the_activities_are_not_known(asked: ObserveProcess) -> None:
    status, found = asked.ask("/v1/activities")
    assert (status, "HIFI_DOCUMENTS_TABLE" in found["error"]) == (503, True)


def test_a_person_begins_maintenance_waits_for_a_release_and_ends_it(
    start: Start, store_url: str, tmp_path: Path
) -> None:
    DocumentTable(TABLE, store_url).ensure()
    observe = start(documents_table=TABLE, documents_endpoint=store_url)
    place = {"HIFI_DOCUMENTS_TABLE": TABLE, "HIFI_DOCUMENTS_ENDPOINT": store_url}
    hifi = Hifi(tmp_path, place | {"HIFI_OBSERVE_URL": observe.url})
    deployer = _register(store_url, "deployer-1")
    release = deployer.begin(Action.REPLACE_CODE, "release 2", STABLE, lease_seconds=LONG)
    assert isinstance(release, Activity)

    refused = hifi.run("maintenance", "begin", "--reason", "a patch")
    assert refused.returncode == 1
    assert "not begun: deployer: replace code (release 2) is under way" in refused.stderr
    assert deployer.look().wishes == [], "a person asks again, and nothing waits for them"
    assert hifi.run("maintenance", "begin", "--reason", "a patch", "--for", "soon").returncode == 2
    deployer.end(release)

    assert hifi.run("maintenance", "begin", "--reason", "[b]a patch[/b]", "--for", "30m").returncode == 0
    waits = deployer.begin(Action.REPLACE_CODE, "release 3", STABLE, lease_seconds=LONG)
    assert waits == Waits(("maintenance: maintain ([b]a patch[/b]) is under way",))
    eventually(lambda: _reasons(observe) == (["[b]a patch[/b]"], ["release 3"]))
    shown = hifi.run("maintenance", "show").stdout
    assert all(text in shown for text in ("the side is stable", "[b]a patch[/b]", "release 3", "waits")), (
        shown
    )
    assert hifi.run("maintenance", "end").returncode == 0
    assert hifi.run("maintenance", "end").returncode == 1
    assert isinstance(deployer.begin(Action.REPLACE_CODE, "release 3", STABLE), Activity)
