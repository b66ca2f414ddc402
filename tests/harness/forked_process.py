"""Processes forked from one that has imported their programs: a start costs a tenth of a new Python's.

That one is the fork server of `multiprocessing`. It has no threads, and ends with the tests.
"""

import os
import subprocess
import sys
from collections.abc import Callable, Mapping, Sequence
from importlib import import_module
from multiprocessing import get_context
from pathlib import Path
from typing import NoReturn


class ForkedProcess:
    """A function in a process of its own, with what tests use of `subprocess.Popen`."""

    def __init__(
        self, run: Callable[[], object], environment: Mapping[str, str], log: Path, imported: Sequence[str]
    ) -> None:
        """Start it.

        Args:
            run: a function that can be pickled.
            environment: all of its environment variables.
            log: its output is appended to this file.
            imported: the modules that need not be imported again, of all processes of a run of tests: those
                of the first one count.
        """
        log.touch()  # for whoever reads it at once
        context = get_context("forkserver")
        context.set_forkserver_preload(list(imported))
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


def run_program(module: str, times: Mapping[str, float]) -> NoReturn:
    """End as `python -m MODULE` does, which calls the module's `main`.

    Args:
        module: its name.
        times: constants of modules by their full names, with the values that they have in this process.
    """
    program = import_module(module)
    for name, value in times.items():
        owner, _, constant = name.rpartition(".")
        found = import_module(owner)
        assert hasattr(found, constant), name
        setattr(found, constant, value)
    sys.exit(program.main())


def _run(run: Callable[[], object], environment: dict[str, str], log: Path) -> None:
    with log.open("ab") as output:
        for stream in (1, 2):
            os.dup2(output.fileno(), stream)
    os.environ.clear()
    os.environ.update(environment)
    try:
        run()
    except Exception as error:  # multiprocessing prints it past the hook, which services set
        sys.excepthook(type(error), error, error.__traceback__)
        sys.exit(1)
