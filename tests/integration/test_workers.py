"""Spark's own workers are added, removed and killed under load, like their master and driver: no loss."""

import json
import re
import subprocess
import sys
import time
from collections.abc import Callable
from pathlib import Path
from typing import Any

import pytest

from scripts.local.cluster import REHEARSED_EXECUTOR
from scripts.local.executor.count import executor_count
from scripts.local.process_marks import kill
from scripts.local.processes.spark_programs import EXECUTORS, WORKERS
from scripts.local.workers import DRAIN_SECONDS, running_workers
from tests.harness.command_line import HifiProcess
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.integration.scene import Scene, end_with_a_pipe

pytestmark = pytest.mark.proof

RUN_SECONDS = 1_500
SCALE_SECONDS = 300
REGISTERS = "rehearsed: registering with the driver"
BACK_SECONDS = 240
"""Seconds until a killed worker is back: its executor rehearses before it takes tasks."""


@pytest.mark.fault
def test_workers_are_added_killed_and_drained_while_a_side_delivers(tmp_path: Path) -> None:
    live = LiveSide.fresh(tmp_path, "--workers", "1", "--parts", "chain")
    url = live.side.spark_url
    hifi = HifiProcess(live.side.root, {})

    def scale(workers: int) -> None:
        # Without its meter a side does not count as stable.
        done = hifi.run("scale", "--workers", str(workers), "--force", timeout=SCALE_SECONDS)
        assert done.returncode == 0, done.stdout + done.stderr
        assert running_workers(live.supervisor) == list(WORKERS[:workers])

    try:
        live.up()
        with end_with_a_pipe(live, tmp_path / "received.tsv") as end:
            scene = Scene(live, end, tmp_path)

            def change() -> None:
                scale(2)
                scene.flows(5)
                kill(live.processes(WORKERS[0]))
                scene.flows(5)
                eventually(lambda: executor_count(url) == 1, BACK_SECONDS, "the killed one is missed")
                eventually(lambda: executor_count(url) == 2, BACK_SECONDS, "the killed worker is back")
                assert re.search(r"ok .*executors .*on 2 of 2 workers", hifi.run("doctor").stdout)
                scale(1)

            found = scene.run(change)
        assert found.lost == ()
        assert executor_count(url) == 1
        rehearsed = _logged(live, "rehearsed")
        assert len(rehearsed) == 2, "what was added and what came back, not the first"
        assert all(each["events"] and each["p95_ms"] for each in rehearsed), "nothing came through one"
        _drain_while_it_rehearses(live, lambda: scale(1))
        assert live.terminate() == 0
        assert not live.processes(), "a process is left"
    finally:
        sys.stdout.write(live.log_tails())
        live.end()


def _logged(live: LiveSide, message: str) -> list[dict[str, Any]]:
    lines = (live.side.logs / f"{EXECUTORS}.log").read_text().splitlines()
    rows = [json.loads(line) for line in lines if line.startswith("{")]
    return [row for row in rows if row.get("message") == message]


def _drain_while_it_rehearses(live: LiveSide, drain: Callable[[], None]) -> None:
    """Its executor must end without taking tasks, and draining must not wait for it."""
    registered = len(_logged(live, REGISTERS))
    live.supervisor.start_program(WORKERS[1])
    eventually(lambda: _rehearses(live), BACK_SECONDS, "the executor is started")
    began = time.monotonic()
    drain()
    assert time.monotonic() - began < DRAIN_SECONDS / 2
    assert len(_logged(live, REGISTERS)) == registered


def _rehearses(live: LiveSide) -> bool:
    return any(REHEARSED_EXECUTOR in each.cmdline() for each in live.processes(WORKERS[1]))


def test_workers_are_added_killed_and_drained_and_their_master_and_driver_killed_without_loss(
    tmp_path: Path,
) -> None:
    out = tmp_path / "workers.json"
    options = ("--rate", "200", "--seconds", "180", "--parts", "chain", "--no-groups", "--out", str(out))
    command = [sys.executable, "-m", "scripts.experiments.workers", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    sys.stdout.write(done.stdout)
    assert out.exists(), done.stderr
    phases = {phase["change"]: phase for phase in json.loads(out.read_bytes())["phases"]}
    assert set(phases) == {"add", "kill", "drain", "kill master", "kill driver"}
    assert all(phase["delivery"]["lost"] == 0 for phase in phases.values())
    assert all(phase["delivery"]["waiting"] == 0 for phase in phases.values())
