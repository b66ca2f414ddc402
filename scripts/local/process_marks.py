"""Finds the processes of a side by a mark in their environment, so that no other process is touched."""

import os
from collections.abc import Iterable
from contextlib import suppress
from pathlib import Path
from typing import Final

import psutil

OF_SIDE: Final = "HIFI_PROCESS_OF"
"""The data folder; every process of a side inherits it from the supervisor, and no other process has it."""

PROGRAM: Final = "HIFI_PROGRAM"
"""The supervised program a process is or descends from."""

STARTS: Final = ".starts"
"""Suffix of the file that has a byte for each start of a program."""


def side_processes(root: Path, program: str | None = None) -> list[psutil.Process]:
    """Running processes of the side in `root`, or of one of its programs; never the caller."""
    found = []
    for process in psutil.process_iter():
        try:
            environment = process.environ()
        except psutil.Error:
            continue  # ended, or another user's
        if environment.get(OF_SIDE) != str(root) or process.pid == os.getpid():
            continue
        if program in (None, environment.get(PROGRAM)):
            found.append(process)
    return found


def end(processes: Iterable[psutil.Process], seconds: float) -> None:
    """SIGTERM, then SIGKILL to those that still run after `seconds`; returns when all have ended."""
    found = list(processes)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.terminate()
    _, alive = psutil.wait_procs(found, timeout=seconds)
    kill(alive)


def kill(processes: Iterable[psutil.Process]) -> None:
    """SIGKILL; returns when all have ended."""
    found = list(processes)
    for process in found:
        with suppress(psutil.NoSuchProcess):
            process.kill()
    psutil.wait_procs(found, timeout=10)
