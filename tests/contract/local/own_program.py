"""A program of a test's own that a side's supervisor runs."""

from collections.abc import Sequence

from scripts.local.folders import Folders
from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.processes.program import Program


def own_program(side: Folders, name: str, command: Sequence[str]) -> Program:
    """A program in the place of one of the side's, or the edge's."""
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
