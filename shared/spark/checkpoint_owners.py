"""Which processes have the checkpoints, for those that have no JVM, or none yet; needs no Spark."""

import fcntl
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import psutil
from msgspec import Struct

FOLDER: Final = ".drivers"
"""Of the locks, in the folder of the checkpoints."""


class ProcessId(Struct, frozen=True):
    """A process, and no later one with the same number."""

    pid: int
    created: float


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
    """Whether a running driver has acquired a node within the last seconds; `now` is epoch seconds."""
    files = [file for file in (checkpoints / FOLDER).glob("*.owner") if now - file.stat().st_mtime < seconds]
    return any(map(_acquired, files))


def _acquired(file: Path) -> bool:
    try:
        return _running(owner(file)[0]) is not None
    except msgspec.DecodeError:  # it is being written
        return True


def end_processes(processes: tuple[ProcessId, ...]) -> None:
    """SIGKILL these processes and all below them, suspended or not; returns when they have ended."""
    roots = [each for each in map(_running, processes) if each is not None]
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


def _running(wanted: ProcessId) -> psutil.Process | None:
    try:
        process = psutil.Process(wanted.pid)
        return process if process.create_time() == wanted.created else None
    except psutil.NoSuchProcess:
        return None


def process_tree() -> tuple[ProcessId, ...]:
    """This process and those below it: the JVM, which runs already."""
    own = psutil.Process()
    return tuple(ProcessId(each.pid, each.create_time()) for each in (own, *own.children(recursive=True)))
