"""Programs that run for a while without a supervisor, so that their JVMs can write archives as they end."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Sequence
from contextlib import contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Final

import psutil

from scripts.local.process_marks import kill, side_processes
from scripts.local.processes.program import Program
from scripts.local.pyspark_package import with_own_spark
from scripts.local.side import Side
from shared.runtime.errors import OperatorError

MOST_SECONDS: Final = 300
"""Most seconds that a program may take to get ready, or to end."""

_POLL_SECONDS: Final = 0.2
_LAST_CHARACTERS: Final = 500


class RecordingError(OperatorError):
    """The chain did not start, or its JVMs wrote nothing."""


def ending(output: str) -> str:
    """The end of what a process wrote, on one line."""
    return " ".join(output[-_LAST_CHARACTERS:].split())


@dataclass(frozen=True)
class Started:
    """A program that was started."""

    name: str
    process: "subprocess.Popen[bytes]"
    log: Path

    def check(self) -> None:
        """Raise RecordingError, with the end of its output, if it has ended."""
        if self.process.poll() is not None:
            said = ending(self.log.read_text(errors="replace"))
            raise RecordingError(f"{self.name} ended by itself: {said}")


@contextmanager
def running(side: Side, wanted: Sequence[Program]) -> Iterator[Sequence[Started]]:
    """Run programs; at the end wait until the last process of each, its JVM, has written its archive."""
    started = [_start(side, program) for program in wanted]
    try:
        yield started
    finally:
        for each in started:
            each.process.terminate()
        for each in started:
            with suppress(subprocess.TimeoutExpired):
                each.process.wait(MOST_SECONDS)
            psutil.wait_procs(side_processes(side.root, each.name), timeout=MOST_SECONDS)
            kill(side_processes(side.root, each.name))
            each.process.wait()


def _start(side: Side, program: Program) -> Started:
    log = side.logs / f"{program.name}.log"
    with log.open("wb") as output:
        process = subprocess.Popen(
            program.command,
            env={**with_own_spark(os.environ), **program.environment},
            cwd=side.root,
            stdin=subprocess.DEVNULL,
            stdout=output,
            stderr=subprocess.STDOUT,
        )
    return Started(program.name, process, log)


def until(done: Callable[[], bool], what: str, started: Iterable[Started]) -> None:
    """Wait until something holds that programs bring about.

    Raises:
        RecordingError: if one of them ends, or it takes too long.
    """
    deadline = time.monotonic() + MOST_SECONDS
    while not done():
        for each in started:
            each.check()
        if time.monotonic() > deadline:
            raise RecordingError(f"{what} not ready after {MOST_SECONDS} s")
        time.sleep(_POLL_SECONDS)
