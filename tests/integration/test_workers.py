"""Spark's own workers, changed in number and killed under load, like their master and driver: no loss."""

import json
import re
import subprocess
import sys
from pathlib import Path

import pytest

from scripts.local.process_marks import kill
from scripts.local.processes.programs import WORKERS
from scripts.local.workers import executors, running_workers
from tests.harness.command_line import Hifi
from tests.harness.live_side import LiveSide
from tests.harness.waiting import eventually
from tests.integration.scene import Scene, end_with_a_pipe

pytestmark = pytest.mark.proof

RUN_SECONDS = 1_500
SCALE_SECONDS = 120


@pytest.mark.fault
def test_workers_are_added_killed_and_drained_while_a_side_delivers(tmp_path: Path) -> None:
    live = LiveSide.fresh(tmp_path, "--workers", "1", "--parts", "chain")
    hifi = Hifi(live.side.root, {})

    def scale(workers: int) -> None:
        done = hifi.run("scale", "--workers", str(workers), timeout=SCALE_SECONDS)
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
                eventually(lambda: executors(live.side) == 2, 60, "the killed worker is back")
                assert re.search(r"ok .*executors .*on 2 of 2 workers", hifi.run("doctor").stdout)
                scale(1)

            found = scene.run(change)
        assert found.lost == ()
        assert executors(live.side) == 1
        assert live.terminate() == 0
        assert not live.processes(), "a process is left"
    finally:
        sys.stdout.write(live.log_tails())
        live.end()


def test_workers_are_added_killed_and_drained_and_their_master_and_driver_killed_without_loss(
    tmp_path: Path,
) -> None:
    out = tmp_path / "workers.json"
    options = ("--rate", "200", "--seconds", "60", "--parts", "chain", "--no-groups", "--out", str(out))
    command = [sys.executable, "-m", "scripts.experiments.workers", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    sys.stdout.write(done.stdout)
    assert out.exists(), done.stderr
    phases = {phase["change"]: phase for phase in json.loads(out.read_bytes())["phases"]}
    assert set(phases) == {"add", "kill", "drain", "kill master", "kill driver"}
    assert all(phase["delivery"]["lost"] == 0 for phase in phases.values())
    assert all(phase["delivery"]["waiting"] == 0 for phase in phases.values())
