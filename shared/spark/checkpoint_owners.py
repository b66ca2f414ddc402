"""Which processes have the checkpoints, for those that have no JVM, or none yet; needs no Spark."""

import fcntl
import time
from collections.abc import Collection, Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import msgspec
import psutil

from shared.runtime.process_id import ProcessId, own_process_id, process_id, process_of

FOLDER: Final = ".drivers"
"""Folder of the locks, below the checkpoints."""

_END_SECONDS: Final = 10.0
"""Most seconds that a killed process is waited for. The kernel may keep one longer, for a disk; whether
another driver may work is decided by the locks alone."""

_POLL_SECONDS: Final = 0.02


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


def end_processes(processes: tuple[ProcessId, ...], seconds: float = _END_SECONDS) -> None:
    """SIGKILL these processes and all below them, suspended or not; returns when they have ended.

    Args:
        processes: those to end, each with all below it.
        seconds: after which it returns in any case.
    """
    found = _with_all_below(filter(None, map(process_of, processes)))
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    deadline = time.monotonic() + seconds
    while not all(map(_has_ended, found)) and time.monotonic() < deadline:
        time.sleep(_POLL_SECONDS)


def _with_all_below(roots: Iterable[psutil.Process]) -> Collection[psutil.Process]:
    found = set()
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            found |= {root, *root.children(recursive=True)}
    return found


def _has_ended(process: psutil.Process) -> bool:
    """Whether a process is gone, or only kept until its parent asks for its status, which some never do."""
    try:
        return process.status() == psutil.STATUS_ZOMBIE or not process.is_running()
    except psutil.NoSuchProcess:
        return True


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
