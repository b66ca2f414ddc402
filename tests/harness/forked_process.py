"""Processes forked from one that has imported their program: a start costs a tenth of a new Python's.

That one is the fork server of `multiprocessing`. It has no threads, and ends with the tests.
"""

import os
import subprocess
from collections.abc import Callable, Mapping
from multiprocessing import get_context
from pathlib import Path


class ForkedProcess:
    """A function in a process of its own, with what tests use of `subprocess.Popen`."""

    def __init__(self, run: Callable[[], None], environment: Mapping[str, str], log: Path) -> None:
        """Start it.

        Args:
            run: a function of a module; that of the first process of a run of tests is imported once.
            environment: all of its environment variables.
            log: its output is appended to this file.
        """
        context = get_context("forkserver")
        context.set_forkserver_preload([run.__module__])
        self._process = context.Process(target=_run, args=(run, dict(environment), log), daemon=True)
        self._process.start()

    @property
    def pid(self) -> int:
        """Its process id."""
        assert self._process.pid is not None
        return self._process.pid

    def poll(self) -> int | None:
        """The exit status; None while it runs."""
        return self._process.exitcode

    def wait(self, timeout: float | None = None) -> int:
        """The exit status once it has ended.

        Raises:
            subprocess.TimeoutExpired: if it has not after `timeout` seconds.
        """
        self._process.join(timeout)
        status = self.poll()
        if status is None:
            raise subprocess.TimeoutExpired(f"process {self.pid}", timeout or 0)
        return status

    def send_signal(self, number: int) -> None:
        """Send a signal, if it still runs."""
        if self.poll() is None:
            os.kill(self.pid, number)

    def kill(self) -> None:
        """Send SIGKILL, if it still runs."""
        self._process.kill()


def _run(run: Callable[[], None], environment: dict[str, str], log: Path) -> None:
    with log.open("ab") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    run()
