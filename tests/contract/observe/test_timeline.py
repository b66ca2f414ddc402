"""observe keeps activities and its side's stability, over a restart as well."""

import time
from typing import Any

from shared.contracts.diamond.activities import Action, Activity
from shared.contracts.diamond.stability import Stability
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.side_weights import LOCAL
from shared.dynamodb.activity_register import ActivityRegister
from shared.dynamodb.document_table import DocumentTable
from shared.runtime.clock import wall_clock
from tests.contract.observe.conftest import Start
from tests.harness.observe_process import ObserveProcess
from tests.harness.waiting import eventually

TABLE = "documents"


def timeline(observe: ObserveProcess) -> Any:
    return observe.get("/v1/timeline")


def phases(observe: ObserveProcess) -> list[tuple[str, str, bool]]:
    """Each activity's phase and reason, and whether it goes on."""
    found = timeline(observe)["activities"]
    return [(each["phase"], each["reason"], each["until_ms"] is None) for each in found]


def test_who_acted_and_how_stable_the_side_was_is_kept_over_a_restart(start: Start, store_url: str) -> None:
    DocumentTable(TABLE, store_url).ensure()
    place = {"documents_table": TABLE, "documents_endpoint": store_url}
    deployer = ActivityRegister(
        TABLE, store_url, side=LOCAL, owner="deployer-1", clock=wall_clock, monotonic=time.monotonic
    )
    begun = deployer.begin(
        Action.REPLACE_CODE, "deploy 2.0", Stability(stable=True), phase="deploy dark", lease_seconds=300
    )
    assert isinstance(begun, Activity)
    observe = start(**place)
    eventually(lambda: phases(observe) == [("deploy dark", "deploy 2.0", True)], 60)
    eventually(lambda: timeline(observe)["health"][-1]["health"] == "stable", 60)
    (first,) = timeline(observe)["activities"]
    assert (first["actor"], first["action"]) == ("deployer", "replace code")
    assert abs(first["from_ms"] - begun.since_ms) < 2
    held = deployer.renew(begun, phase="canary")
    shown = [("deploy dark", "deploy 2.0", False), ("canary", "deploy 2.0", True)]
    eventually(lambda: phases(observe) == shown, 60)
    assert observe.stop() == 0

    again = start(**place)
    eventually(lambda: phases(again) == shown, 60)
    deployer.end(held)
    eventually(lambda: [ends for *_, ends in phases(again)] == [False, False], 60)
    later = wall_clock() // MINUTE_MS + 10
    assert again.get(f"/v1/timeline?from={later}&to={later}") == {"activities": [], "health": []}
    status, found = again.ask("/v1/timeline?from=5&to=4")
    assert (status, "from, to" in found["error"]) == (400, True)
