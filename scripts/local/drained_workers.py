"""Spark workers that take no more tasks, noted until they are stopped: at the latest by the next command."""

from collections.abc import Sequence
from pathlib import Path
from typing import Final

import msgspec

from scripts.local.processes.supervisor import Supervisor
from scripts.local.side import Side
from scripts.local.whole_file import write_whole
from shared.runtime.process_id import ProcessId, process_id

_NOTE: Final = "drained.json"


def note_drained(side: Side, supervisor: Supervisor, workers: Sequence[str]) -> None:
    """Note that these programs are about to be drained; what was noted before is forgotten.

    Raises:
        SupervisorError: if the side does not answer.
    """
    found = {name: process_id(pid) for name in workers if (pid := supervisor.pid(name))}
    write_whole(_note(side), msgspec.json.encode(found))


def drained_workers(side: Side, supervisor: Supervisor) -> list[str]:
    """Those noted that run still; one that was started again since then takes tasks.

    Raises:
        SupervisorError: if the side does not answer.
    """
    try:
        noted = msgspec.json.decode(_note(side).read_bytes(), type=dict[str, ProcessId | None])
    except FileNotFoundError:
        return []
    running = supervisor.not_ended(list(noted))
    return [name for name in running if (one := noted[name]) and process_id(supervisor.pid(name)) == one]


def forget_drained(side: Side) -> None:
    """Forget them: they are stopped."""
    _note(side).unlink(missing_ok=True)


def _note(side: Side) -> Path:
    return side.run / _NOTE
