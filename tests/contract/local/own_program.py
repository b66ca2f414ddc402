"""A program of a test's own that a side's supervisor runs."""

from collections.abc import Sequence

from scripts.local.process_marks import OF_SIDE, PROGRAM
from scripts.local.processes.program import Program
from scripts.local.side import Side


def own_program(side: Side, name: str, command: Sequence[str]) -> Program:
    """A program in the place of one of the side's."""
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
