"""Parks a local side: its brokers and its provisioner stay, all its other code ends.

The provisioner keeps the side's documents as the table has them. Without it, `hifi apply` would wait for a
side that does not run.
"""

from collections.abc import Mapping, Sequence
from itertools import groupby
from typing import Final

from scripts.local.processes.program import Program
from scripts.local.processes.programs import BROKERS, OBSERVE, PROVISION
from scripts.local.processes.supervisor import ENDED, Supervisor

KEPT: Final = frozenset({*BROKERS, PROVISION})
"""The programs that run on a parked side."""


def code_states(supervisor: Supervisor) -> Mapping[str, str]:
    """State of each program of a side that does not run while it is parked.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    return {name: state for name, state in supervisor.states().items() if name not in KEPT}


def is_parked(supervisor: Supervisor) -> bool:
    """Whether none of a side's code runs that a parked side does without.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    return all(state in ENDED for state in code_states(supervisor).values())


def stop_code(supervisor: Supervisor, programs: Sequence[Program]) -> None:
    """Stop a side's code, those programs first that give others work; returns when all have ended.

    observe is last: a deployer that takes over meanwhile asks it whether the side may be parked.

    Args:
        supervisor: the side's.
        programs: the side's, for their order.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """

    def stage(program: Program) -> tuple[bool, int]:
        return program.name == OBSERVE, -program.order

    code = sorted((each for each in programs if each.name not in KEPT), key=stage)
    for _, together in groupby(code, key=stage):
        supervisor.stop_programs([each.name for each in together])
