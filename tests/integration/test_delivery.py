"""An outage of a destination, and a replay of dead letters, through the whole chain."""

from pathlib import Path
from typing import Any

import pytest

from pipelines.data.retry.drain_rate import MIN_RECORDS
from scripts.experiments.outage.outage import OutagePlan, run
from scripts.load.fault_injection import FaultInjection, parse_rule
from scripts.load.receiver import Receiver, running
from tests.harness.command_line import HifiProcess
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.integration.held_event import post

pytestmark = [pytest.mark.fault, pytest.mark.proof]

OUTAGE = OutagePlan(rate=200, steady=4, lead=8, before=12, outage=20, after=12)


def test_a_destination_that_was_down_gets_everything_and_the_others_notice_nothing(
    live: LiveSide, tmp_path: Path
) -> None:
    found = run(live.side, OUTAGE, tmp_path, print)
    for name, fate in found.fates.items():
        assert (fate.lost, fate.waiting) == ((), 0), name
        assert fate.received == fate.acked >= OUTAGE.load.seconds * OUTAGE.rate * 0.99, name
        assert fate.duplicated <= found.handed_on[name], f"{name}: only a change of lanes may repeat"
    assert found.drain.events >= OUTAGE.outage * OUTAGE.rate * 0.9, "failed events arrived later"
    # Two of retry's rounds may end within one second of the clock.
    assert found.drain.most_a_second <= 2 * MIN_RECORDS + OUTAGE.rate, found.drain
    before, down = found.lags["before"], found.lags["down"]
    assert before is not None
    assert down is not None
    # Medians: another side may start meanwhile and add seconds to p95; `hifi trial outage` measures p95.
    assert down.p50 <= 1.5 * before.p50 + 250, f"p50 {before.p50:.0f} ms before, {down.p50:.0f} ms while down"


def hifi(live: LiveSide, *arguments: str) -> Any:
    """The command's JSON output."""
    return HifiProcess(live.side.root, {}).json(*arguments)


def with_failure(live: LiveSide, name: str) -> Any:
    """The health of a destination, once it shows a failure."""
    (found,) = hifi(live, "destinations", name)
    return found if found["failed"] else None


def test_a_dead_letter_that_is_replayed_arrives_once_with_its_id(live: LiveSide) -> None:
    name, key = "letters", "integration-letters"
    both = {"name": name, "tenant": name}
    with running(Receiver()) as receiver:
        live.apply(
            {"kind": "source", "write_keys": [key], **both},
            {"kind": "destination", "options": {"url": f"{receiver.url}/{name}"}, **both},
            {"kind": "pipe", "source": name, "destination": name, **both},
        )
        seen = receiver.counts(f"/{name}").seen
        eventually(lambda: post(live.url, "probe", key) == 202, 60, "the source is open")
        eventually(lambda: "probe" in seen, 60, "the pipe is live")
        receiver.misbehaviour = FaultInjection([parse_rule("404=100%")])
        assert post(live.url, "refused", key) == 202
        (letter,) = eventually(
            lambda: hifi(live, "dead-letters", "list", "--destination", name), 60, "it is a dead letter"
        )
        assert letter["reason"] == "refused: the destination answered 404"
        shown = eventually(lambda: with_failure(live, name), 60, "the meter has seen the failure")
        assert (shown["last_error"], shown["failed"], shown["waiting"]) == ("404 refused", 1, 0)
        assert shown["delivered"] >= 1

        receiver.misbehaviour = FaultInjection()
        replay = ("dead-letters", "replay", "--destination", name, "--yes")
        assert hifi(live, *replay)["replayed"] == 1
        eventually(lambda: "refused" in seen, 60, "the replayed event arrives")
        assert hifi(live, *replay)["replayed"] == 0
        assert post(live.url, "later", key) == 202
        eventually(lambda: "later" in seen, 60, "an event that came after the second replay arrives")
        assert receiver.counts(f"/{name}").duplicated == 0
