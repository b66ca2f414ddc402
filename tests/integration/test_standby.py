"""A side with two Spark drivers: one works, the other takes over, and both never work together."""

import json
import subprocess
import sys
from pathlib import Path

import pytest

pytestmark = pytest.mark.proof

RUN_SECONDS = 1_500


def test_a_standby_takes_over_from_a_killed_a_stopped_and_a_suspended_driver_without_loss(
    tmp_path: Path,
) -> None:
    out = tmp_path / "takeover.json"
    options = ("--rate", "200", "--seconds", "60", "--parts", "chain", "--out", str(out))
    command = [sys.executable, "-m", "scripts.experiments.takeover", *options]
    done = subprocess.run(command, capture_output=True, text=True, timeout=RUN_SECONDS, check=False)
    assert out.exists(), done.stderr
    found = json.loads(out.read_bytes())
    phases = {phase["fault"]: phase for phase in found["phases"]}
    sys.stdout.write(done.stdout)
    assert set(phases) == {"kill", "restart", "suspend"}
    assert all(phase["delivery"]["lost"] == 0 for phase in phases.values())
    assert all(phase["delivery"]["waiting"] == 0 for phase in phases.values())
    assert found["two_at_work"] == []
    # The bound of a quiet machine is 5 s (`python -m tests.proof takeover`); a cold driver takes a minute.
    assert phases["kill"]["lateness"]["recovered_seconds"] < 30
