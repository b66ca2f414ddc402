"""`hifi down` stops the process that holds the folder's lock, even if it is suspended."""

import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil

from scripts.local.lock import holder
from tests.harness.command_line import HIFI
from tests.harness.waiting import eventually

HOLDS_THE_LOCK = """
import signal, sys
from pathlib import Path

from scripts.local.lock import held
from scripts.local.processes.stopping import stop_signals_interrupt

root = Path(sys.argv[1])
with held(root):
    stop_signals_interrupt()
    (root / "holds").touch()
    try:
        signal.pause()
    except KeyboardInterrupt:
        (root / "stopped").touch()
"""
"""Behaves like `hifi up`, without programs."""


def test_a_side_that_ctrl_z_suspended_is_stopped(tmp_path: Path) -> None:
    with subprocess.Popen([sys.executable, "-c", HOLDS_THE_LOCK, str(tmp_path)]) as up:
        try:
            eventually((tmp_path / "holds").exists, 120, "the lock is held")
            os.kill(up.pid, signal.SIGSTOP)
            eventually(lambda: psutil.Process(up.pid).status() == psutil.STATUS_STOPPED, 60)
            command = [*HIFI, "down", "--data", str(tmp_path)]
            done = subprocess.run(command, capture_output=True, text=True, timeout=120, check=False)
            assert done.returncode == 0, done.stdout + done.stderr
            assert (tmp_path / "stopped").exists()
            assert holder(tmp_path) is None
        finally:
            up.kill()
