"""What a real supervisord is asked to do to programs of a side."""

import sys
from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.local.ports import free_base
from scripts.local.process_marks import OF_SIDE, PROGRAM, side_processes
from scripts.local.processes.programs import CONSOLE, OBSERVE, Program
from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from tests.harness.waiting import eventually

SLOW_TO_END = """
import pathlib, signal, sys, time
signal.signal(signal.SIGTERM, lambda *_: (time.sleep(1.5), sys.exit()))
pathlib.Path(sys.argv[1]).touch()
time.sleep(600)
"""


@pytest.fixture
def side(tmp_path: Path) -> Side:
    found = Side(root=tmp_path / "side", port=free_base())
    found.create()
    return found


@pytest.fixture
def supervisor(side: Side, tmp_path: Path) -> Iterator[Supervisor]:
    """Runs two programs that take a while to end."""
    names = (OBSERVE, CONSOLE)
    running = Supervisor(side)
    running.start([slow_to_end(side, name, tmp_path / name) for name in names])
    for name in names:
        running.start_program(name)
    eventually(lambda: all((tmp_path / name).exists() for name in names), 20, "both programs run")
    yield running
    running.shut_down()


def slow_to_end(side: Side, name: str, ready: Path) -> Program:
    command = [sys.executable, "-c", SLOW_TO_END, str(ready)]
    marks = {OF_SIDE: str(side.root), PROGRAM: name}
    return Program(
        name=name, command=command, environment=marks, group="g", order=10, start_seconds=0, stop_seconds=10
    )


def test_several_programs_have_ended_when_they_are_said_to_be_stopped(
    side: Side, supervisor: Supervisor
) -> None:
    supervisor.stop_programs([OBSERVE, CONSOLE])
    assert set(supervisor.states().values()) == {"STOPPED"}
    assert not side_processes(side.root, OBSERVE)
    assert not side_processes(side.root, CONSOLE)
