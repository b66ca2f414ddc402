"""Adds Spark workers to a side that runs, and drains them, without a stop."""

import signal
import time
import urllib.request
from collections.abc import Callable, Sequence
from contextlib import suppress
from typing import Final

import msgspec
import psutil

from scripts.local.addresses import HOST
from scripts.local.processes.programs import WORKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from shared.runtime.errors import OperatorError

DRAIN_SECONDS: Final = 75
"""Most seconds for the tasks of a worker to end, as on the twins: the longest batch, five times."""

_START_SECONDS: Final = 60
_KNOWN_SECONDS: Final = 15
_POLL_SECONDS: Final = 0.2
_ANSWER_SECONDS: Final = 2
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"
_STOPPED: Final = frozenset({"STOPPED", "EXITED", "FATAL"})


class WorkersError(OperatorError):
    """The number of workers cannot be changed; the text says why and what to do."""


class _Worker(msgspec.Struct):
    """A worker as the master describes it."""

    state: str
    coresused: int


class _State(msgspec.Struct):
    """The master's state, as far as it is used here."""

    workers: list[_Worker]


def running_workers(supervisor: Supervisor) -> list[str]:
    """The programs that are workers and run, in their order.

    Raises:
        SupervisorError: if the side does not answer.
    """
    states = supervisor.states()
    return [name for name in WORKERS if states.get(name, "STOPPED") not in _STOPPED]


def scale(side: Side, wanted: int, progress: Progress) -> None:
    """Start workers, or drain the last ones, until there are as many as wanted.

    Args:
        side: one that runs with workers.
        wanted: 1 to the number of `WORKERS`.
        progress: gets the steps.

    Raises:
        WorkersError: if the side has no workers, or one does not start.
        SupervisorError: if the side does not answer.
    """
    if not side.workers:
        raise WorkersError("this side runs all tasks in its driver", "start it with `hifi up --workers 1`")
    supervisor = Supervisor(side)
    running = running_workers(supervisor)
    added = [name for name in WORKERS if name not in running][: max(0, wanted - len(running))]
    if added:
        with progress.step(f"starting {_named(added)}: an executor for each"):
            _add(side, supervisor, added)
    for name in reversed(running[wanted:]):
        with progress.step(f"draining {name}: its tasks end with their batches"):
            drain(supervisor, name)


def executors(side: Side) -> int:
    """Workers on which an executor runs; 0 while the master does not answer."""
    url = f"http://{HOST}:{side.master_state_port}/json/"
    try:
        with urllib.request.urlopen(url, timeout=_ANSWER_SECONDS) as answer:
            found = msgspec.json.decode(answer.read(), type=_State)
    except (OSError, msgspec.MsgspecError):
        return 0
    return sum(each.state == "ALIVE" and each.coresused > 0 for each in found.workers)


def drain(supervisor: Supervisor, name: str) -> None:
    """Let a worker take no more tasks, wait until its executors have ended, then stop it."""
    with suppress(psutil.NoSuchProcess):
        worker = psutil.Process(supervisor.pid(name))
        _wait(lambda: all(_is_known(each) for each in _executors_of(worker)), _KNOWN_SECONDS)
        worker.send_signal(signal.SIGPWR)
        _wait(lambda: not _executors_of(worker), DRAIN_SECONDS)
    supervisor.stop_program(name)


def _is_known(executor: psutil.Process) -> bool:
    """Whether an executor has run long enough for its driver to know it: before, it cannot be drained."""
    return time.time() - executor.create_time() > _KNOWN_SECONDS


def _add(side: Side, supervisor: Supervisor, names: Sequence[str]) -> None:
    wanted = executors(side) + len(names)
    for name in names:
        supervisor.start_program(name)
    if not _wait(lambda: executors(side) >= wanted, _START_SECONDS):
        raise WorkersError(
            f"{_named(names)} did not start within {_START_SECONDS} s", f"{side.logs}/spark_*.log say why"
        )


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Whether something was done in time."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True


def _executors_of(worker: psutil.Process) -> list[psutil.Process]:
    found = []
    for child in worker.children():
        with suppress(psutil.NoSuchProcess):
            if any(_EXECUTOR in word for word in child.cmdline()):
                found.append(child)
    return found


def _named(names: Sequence[str]) -> str:
    return ", ".join(names)
