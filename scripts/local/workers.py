"""Adds Spark workers to a side that runs, and drains them, without a stop."""

import fcntl
import signal
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import AbstractContextManager, contextmanager, suppress
from typing import Final

import psutil

from scripts.local.cluster import REHEARSED_EXECUTOR
from scripts.local.drained_workers import drained_workers, forget_drained, note_drained
from scripts.local.executor.count import executor_count
from scripts.local.processes.spark_programs import WORKERS
from scripts.local.processes.supervisor import Supervisor
from scripts.local.progress import Progress
from scripts.local.side import Side
from shared.contracts.diamond.activities import Action
from shared.runtime.errors import OperatorError

DRAIN_SECONDS: Final = 75
"""Most seconds for the tasks of workers to end, as on the twins: the longest batch, five times."""

_START_SECONDS: Final = 240
"""Most seconds until an executor takes tasks: each rehearses first, in its turn, while others take them."""

_KNOWN_SECONDS: Final = 15
_POLL_SECONDS: Final = 1.0
_EXECUTOR: Final = "CoarseGrainedExecutorBackend"

Registered = Callable[[Action, str], AbstractContextManager[None]]
"""Lets others know, while its block runs, that a side is scaled out or in, with a reason for people."""


class WorkersError(OperatorError):
    """The number of workers cannot be changed; the text says why and what to do."""


def running_workers(supervisor: Supervisor) -> list[str]:
    """The programs that are workers and run, or are about to, in their order.

    Raises:
        SupervisorError: if the side does not answer.
    """
    return list(supervisor.not_ended(WORKERS))


def scale(side: Side, wanted: int, progress: Progress, registered: Registered) -> None:
    """Start workers, or drain the last ones, until as many as wanted take the driver's tasks.

    Args:
        side: one that runs with workers.
        wanted: 1 to the number of `WORKERS`.
        progress: gets the steps.
        registered: lets others know of it; what it raises is raised before anything is changed.

    Raises:
        WorkersError: if the side has no workers, another command changes them, or an executor does not start.
        SupervisorError: if the side does not answer.
    """
    if not side.workers:
        raise WorkersError("this side runs all tasks in its driver", "start it with `hifi up --workers 1`")
    supervisor = Supervisor(side)
    with _alone(side):
        left = drained_workers(side, supervisor)
        at_work = len([name for name in running_workers(supervisor) if name not in left])
        action = Action.SCALE_IN if wanted < at_work else Action.SCALE_OUT
        with registered(action, f"Spark workers: {at_work} to {wanted}"):
            _change(side, supervisor, wanted, left, progress)


def _change(side: Side, supervisor: Supervisor, wanted: int, left: Sequence[str], progress: Progress) -> None:
    """Stop what is `left` drained, then start and drain workers, and wait for the executors."""
    if left:
        with progress.step(f"stopping {', '.join(left)}, which a `hifi scale` that was killed has drained"):
            _drain(side, supervisor, left)
    running = running_workers(supervisor)
    added = [name for name in WORKERS if name not in running][: max(0, wanted - len(running))]
    for name in added:
        supervisor.start_program(name)
    if too_many := running[wanted:]:
        with progress.step(f"draining {', '.join(too_many)}: tasks end with their batches"):
            _drain(side, supervisor, too_many)
    rehearsed = ": each new one rehearses first, a minute or two" if added else ""
    with progress.step(f"waiting until {wanted} executors take tasks{rehearsed}"):
        _wait_for_executors(side, wanted, _START_SECONDS * max(1, len(added)))


@contextmanager
def _alone(side: Side) -> Iterator[None]:
    with (side.run / "scale.lock").open("a") as file:
        try:
            fcntl.flock(file, fcntl.LOCK_EX | fcntl.LOCK_NB)
        except BlockingIOError as error:
            raise WorkersError("another `hifi scale` is at work on this side", "wait for its end") from error
        yield


def _wait_for_executors(side: Side, wanted: int, seconds: int) -> None:
    if not _wait(lambda: (executor_count(side.spark_url) or 0) >= wanted, seconds):
        raise WorkersError(
            f"{executor_count(side.spark_url) or 0} of {wanted} executors take tasks after {seconds} s",
            f"`hifi doctor` says whether the driver runs, {side.logs}/spark_worker-*.log why one does not",
        )


def _drain(side: Side, supervisor: Supervisor, names: Sequence[str]) -> None:
    """Let workers take no more tasks, wait until their executors have ended, then stop them.

    An executor that still rehearses ends without taking any. They are stopped whatever happens: a worker that
    takes no tasks must not stay. If this process is killed, the next one finds them by the note.
    """
    note_drained(side, supervisor, names)
    pids = [supervisor.pid(name) for name in names]
    try:
        _wait(lambda: all(map(_is_known, _executors_of(pids))), _KNOWN_SECONDS)
        rehearsed = [executor.pid for executor in _executors_of(pids, REHEARSED_EXECUTOR)]
        for pid in (*filter(None, pids), *rehearsed):
            with suppress(psutil.NoSuchProcess):
                psutil.Process(pid).send_signal(signal.SIGPWR)
        _wait(lambda: not _executors_of(pids), DRAIN_SECONDS)
    finally:
        supervisor.stop_programs(names)
        forget_drained(side)


def _is_known(executor: psutil.Process) -> bool:
    """Whether an executor has run long enough for its driver to know it: before, it cannot be drained."""
    return time.time() - executor.create_time() > _KNOWN_SECONDS


def _executors_of(workers: Sequence[int], word: str = _EXECUTOR) -> list[psutil.Process]:
    """The executors of workers, with a word in their command lines.

    The workers are given by their process ids; 0 is one that does not run.
    """
    found = []
    for pid in filter(None, workers):
        with suppress(psutil.NoSuchProcess):
            for child in psutil.Process(pid).children():
                if any(word in argument for argument in child.cmdline()):
                    found.append(child)
    return found


def _wait(done: Callable[[], bool], seconds: float) -> bool:
    """Whether something was done in time."""
    deadline = time.monotonic() + seconds
    while not done():
        if time.monotonic() > deadline:
            return False
        time.sleep(_POLL_SECONDS)
    return True
