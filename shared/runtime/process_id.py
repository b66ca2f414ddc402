"""Identifies a process in a file that outlives it, by its number and its start: a number is given again."""

import os
from pathlib import Path
from typing import Final

import psutil
from msgspec import Struct

_PROC: Final = Path("/proc")
_STARTED: Final = 22 - 3
"""Index of field 22 of /proc/PID/stat, the start, among those from the third on, after the program's name."""


class ProcessId(Struct, frozen=True):
    """A process, and no later one with the same number."""

    pid: int
    started: str
    """Equal only for the same process. No step of the system's clock changes it where there is /proc."""


def process_id(pid: int) -> ProcessId | None:
    """The process that has a number now; None if none has it. One that ended and is not reaped yet has it."""
    try:
        return ProcessId(pid, _started(pid))
    except (FileNotFoundError, ProcessLookupError, psutil.NoSuchProcess):
        return None


def own_process_id() -> ProcessId:
    """The process that calls."""
    return ProcessId(os.getpid(), _started(os.getpid()))


def process_of(wanted: ProcessId) -> psutil.Process | None:
    """The process that is meant; None if it has ended."""
    if process_id(wanted.pid) != wanted:
        return None
    try:
        return psutil.Process(wanted.pid)
    except psutil.NoSuchProcess:
        return None


def _started(pid: int) -> str:
    """Ticks since the start of the machine, and which start that was.

    The time of day, which psutil computes from them, moves with the system's clock.
    """
    if not (_PROC / "self" / "stat").exists():
        return str(psutil.Process(pid).create_time())
    # The name is in parentheses, and may have some of its own.
    fields = (_PROC / str(pid) / "stat").read_text(errors="replace").rpartition(")")[2].split()
    return f"{_boot()} {fields[_STARTED]}"


def _boot() -> str:
    try:
        return (_PROC / "sys/kernel/random/boot_id").read_text().strip()
    except OSError:  # some containers hide it
        return ""
