"""What a real supervisord is asked to do to programs of a side."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local.process_marks import side_processes
from scripts.local.processes.programs import CONSOLE, OBSERVE
from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from tests.contract.local.own_program import own_program
from tests.harness.waiting import eventually

SLOW_TO_END = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1.5), sys.exit()))
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


@pytest.fixture
def supervisor(side: Side, tmp_path: Path) -> Iterator[Supervisor]:
    """Runs two programs that take a while to end."""
    names = (OBSERVE, CONSOLE)
    running = Supervisor(side)
    slow = [sys.executable, "-c", SLOW_TO_END]
    running.start([own_program(side, name, [*slow, str(tmp_path / name)]) for name in names])
    for name in names:
        running.start_program(name)
    eventually(lambda: all((tmp_path / name).exists() for name in names), 60, "both programs run")
    yield running
    running.shut_down()


def test_several_programs_have_ended_when_they_are_said_to_be_stopped(
    side: Side, supervisor: Supervisor
) -> None:
    supervisor.stop_programs([OBSERVE, CONSOLE])
    assert set(supervisor.states().values()) == {"STOPPED"}
    assert not side_processes(side.root, OBSERVE)
    assert not side_processes(side.root, CONSOLE)
