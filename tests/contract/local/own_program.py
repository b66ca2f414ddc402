"""Programs that a test brings, run by a side's supervisor."""

import sys
from collections.abc import Mapping, Sequence
from contextlib import ExitStack
from typing import Final

from scripts.local.folders import Folders
from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.processes.program import Program
from scripts.local.processes.supervisor import Supervisor

SLEEPER: Final = (sys.executable, "-c", "import time; time.sleep(600)")


def own_program(side: Folders, name: str, command: Sequence[str]) -> Program:
    """A program that replaces one of the side's or the edge's."""
    marks = {OF_SIDE: str(side.root), PROGRAM: name}
    return Program(
        name=name,
        command=list(command),
        environment=marks,
        group="g",
        order=10,
        start_seconds=0,
        stop_seconds=10,
    )


def supervised(stack: ExitStack, place: Folders, programs: Mapping[str, Sequence[str]]) -> Supervisor:
    """A running supervisor with these programs, none of them started; it ends with the stack."""
    place.create()
    supervisor = Supervisor(place)
    supervisor.start([own_program(place, name, command) for name, command in programs.items()])
    stack.callback(supervisor.shut_down)
    return supervisor
