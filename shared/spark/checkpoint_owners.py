"""Which processes have the checkpoints, for those that have no JVM, or none yet; needs no Spark."""

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import psutil

from shared.runtime.process_id import ProcessId, own_process_id, process_id, process_of

FOLDER: Final = ".drivers"
"""Of the locks, in the folder of the checkpoints."""


def in_use(checkpoints: Path) -> bool:
    """Whether a driver has a lock there; asked by a process without a JVM, which would lose its own locks."""
    return any(_locked(file) for file in (checkpoints / FOLDER).glob("*.lock"))


def _locked(file: Path) -> bool:
    with file.open("r+b") as opened:
        try:
            fcntl.lockf(opened, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except OSError:
            return True
    return False


def acquired_lately(checkpoints: Path, now: float, seconds: float) -> bool:
    """Whether a running driver has acquired a node within the last seconds; `now` is epoch seconds.

    What lies in the future, because the clock was set back, is as long ago as anything.
    """
    ages = {file: now - file.stat().st_mtime for file in (checkpoints / FOLDER).glob("*.owner")}
    return any(_acquired(file) for file, age in ages.items() if abs(age) < seconds)


def _acquired(file: Path) -> bool:
    try:
        return process_of(owner(file)[0]) is not None
    except msgspec.DecodeError:  # it is being written
        return True


def end_processes(processes: tuple[ProcessId, ...]) -> None:
    """SIGKILL these processes and all below them, suspended or not; returns when they have ended."""
    roots = [each for each in map(process_of, processes) if each is not None]
    found = {process for root in roots for process in (root, *root.children(recursive=True))}
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found)


def owner(file: Path) -> tuple[ProcessId, ...]:
    """The processes that a file names.

    Raises:
        FileNotFoundError: if no driver wrote it yet.
        msgspec.DecodeError: if it is being written.
    """
    return msgspec.json.decode(file.read_bytes(), type=tuple[ProcessId, ...])


def process_tree() -> tuple[ProcessId, ...]:
    """This process and those below it: the JVM, which runs already."""
    below = (process_id(child.pid) for child in psutil.Process().children(recursive=True))
    return (own_process_id(), *(each for each in below if each is not None))
