"""Starts, watches and stops processes of a chain under test."""

import os
import subprocess
import time
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from contextlib import contextmanager
from pathlib import Path

from shared.runtime.errors import OperatorError

START_SECONDS = 300.0
STOP_SECONDS = 150.0
_PAUSE_SECONDS = 0.2
_TAIL = 2_000


class ChainError(OperatorError):
    """A chain did not start, or one of its processes ended; the text has the end of its log."""


class ChildProcess:
    """A running process and its log."""

    def __init__(self, name: str, process: "subprocess.Popen[bytes]", log: Path) -> None:
        self._name = name
        self._process = process
        self._log = log

    @property
    def name(self) -> str:
        """Name in errors and of its log."""
        return self._name

    @property
    def pid(self) -> int:
        """Its process id."""
        return self._process.pid

    def text(self) -> str:
        """Its output so far."""
        return self._log.read_text(errors="replace")

    def check(self) -> None:
        """Check that it still runs.

        Raises:
            ChainError: if it has ended.
        """
        if self._process.poll() is not None:
            raise ChainError(f"{self._name} ended unexpectedly; its log ends with:\n{self.text()[-_TAIL:]}")


@contextmanager
def child_process(
    name: str, command: Sequence[str], logs: Path, environment: Mapping[str, str]
) -> Iterator[ChildProcess]:
    """Run a process until the block ends: SIGTERM, then SIGKILL if that takes too long."""
    logs.mkdir(parents=True, exist_ok=True)
    path = logs / f"bench-{name}.log"
    with path.open("wb") as log:
        process = subprocess.Popen(
            command,
            env={**os.environ, **environment},
            stdin=subprocess.DEVNULL,
            stdout=log,
            stderr=log,
            start_new_session=True,
        )
    try:
        yield ChildProcess(name, process, path)
    finally:
        process.terminate()
        try:
            process.wait(STOP_SECONDS)
        except subprocess.TimeoutExpired:
            process.kill()
            process.wait()


def check_all(children: Iterable[ChildProcess]) -> None:
    """Check that all still run.

    Raises:
        ChainError: if one has ended.
    """
    for one in children:
        one.check()


def wait_until(ready: Callable[[], bool], children: Sequence[ChildProcess]) -> None:
    """Wait until `ready` returns true.

    Raises:
        ChainError: if a child ends, or it takes longer than `START_SECONDS`.
    """
    deadline = time.monotonic() + START_SECONDS
    while not ready():
        check_all(children)
        if time.monotonic() > deadline:
            first = children[0]
            waited = f"{first.name} was not ready within {START_SECONDS:.0f} s"
            raise ChainError(f"{waited}; its log ends with:\n{first.text()[-_TAIL:]}")
        time.sleep(_PAUSE_SECONDS)
