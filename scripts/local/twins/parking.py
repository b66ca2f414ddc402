"""Parks a local side: its brokers and what it stores stay, all its code ends."""

from collections.abc import Mapping, Sequence
from itertools import groupby

from scripts.local.processes.programs import BROKERS, Program
from scripts.local.processes.supervisor import Supervisor

_STOPPED = frozenset({"STOPPED", "EXITED", "FATAL"})


def code_states(supervisor: Supervisor) -> Mapping[str, str]:
    """State of each program of a side but its brokers.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    return {name: state for name, state in supervisor.states().items() if name not in BROKERS}


def is_parked(supervisor: Supervisor) -> bool:
    """Whether none of a side's code runs.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    return all(state in _STOPPED for state in code_states(supervisor).values())


def stop_code(supervisor: Supervisor, programs: Sequence[Program]) -> None:
    """Stop all of a side's code, those first that give others work; returns when all have ended.

    Args:
        supervisor: the side's.
        programs: the side's, for their order.

    Raises:
        SupervisorError: if the supervisor does not answer.
    """
    code = sorted((each for each in programs if each.name not in BROKERS), key=lambda each: -each.order)
    for _, together in groupby(code, key=lambda each: each.order):
        supervisor.stop_programs([each.name for each in together])
