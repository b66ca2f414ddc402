"""Stop signals of a process that waits for them."""

import signal
import subprocess
import sys

WAITING: str = """
import signal, sys
from shared.runtime.shutdown import stop_event
stopping = stop_event()
with stopping._cond:  # as inside `wait`
    signal.raise_signal(signal.SIGTERM)
sys.exit(0 if stopping.wait(20) else 1)
"""
TWICE: str = """
import signal, time
from shared.runtime.shutdown import stop_event
stop_event()
signal.raise_signal(signal.SIGTERM)
signal.raise_signal(signal.SIGTERM)
time.sleep(20)
"""


def _ended(code: str) -> int:
    return subprocess.run([sys.executable, "-c", code], timeout=60, check=False).returncode


def test_a_signal_in_the_middle_of_a_wait_ends_it() -> None:
    assert _ended(WAITING) == 0


def test_a_second_signal_ends_the_process_at_once() -> None:
    assert _ended(TWICE) == -signal.SIGTERM
