"""`hifi demo` on a running side proves delivery, with generated and with a user's own events."""

import subprocess
from pathlib import Path

import pytest

from tests.harness.command_line import HifiProcess
from tests.harness.live_side import LiveSide

pytestmark = pytest.mark.proof


def demo(live: LiveSide, *arguments: str) -> "subprocess.CompletedProcess[str]":
    return HifiProcess(live.side.root, {}).run("demo", *arguments, timeout=240)


def test_generated_events_are_all_delivered_and_the_side_goes_on(live: LiveSide) -> None:
    done = demo(live, "--seconds", "6", "--rate", "300")
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was lost" in done.stdout
    assert "1,800 of 1,800 events were acknowledged" in done.stdout
    assert live.processes()


def test_a_users_plain_objects_are_delivered_too(live: LiveSide, tmp_path: Path) -> None:
    events = tmp_path / "mine.ndjson"
    events.write_text('{"order": 1, "total": 1.10}\n{"order": 2, "total": 2.20}\n')
    done = demo(live, "--seconds", "3", "--rate", "100", "--events", str(events))
    assert done.returncode == 0, done.stdout + done.stderr
    assert "nothing was lost" in done.stdout
