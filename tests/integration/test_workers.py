"""Spark's own workers, changed in number and killed under load, like their master and driver: no loss."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof

RUN_SECONDS = 1_500


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
