"""Faults of the Spark driver at work, and a check whether two drivers were ever at work at once."""

import signal
import time
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from functools import partial
from itertools import chain
from pathlib import Path
from typing import Final

import psutil

from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.takeover.partition_writers import producer_ids, writers_in_turn
from scripts.local.addresses import BROKER_IDS
from scripts.local.process_marks import side_processes
from scripts.local.processes.spark_programs import SPARK, STANDBY
from scripts.local.processes.supervisor import Supervisor
from scripts.local.services import driver_at_work
from scripts.local.side import Side
from shared.contracts.topics import Topic

_LOOK_SECONDS: Final = 0.5
_MOST_SECONDS: Final = 180.0
_JVM = "org.apache.spark.deploy.SparkSubmit"


class Fault(StrEnum):
    """A fault of the driver at work."""

    KILL = "kill"
    """SIGKILL of its JVM."""

    SUSPEND = "suspend"
    """SIGSTOP of all its processes; they are never continued."""

    RESTART = "restart"
    """SIGTERM, as for new code; then the program is started again."""

    STORM = "storm"
    """SIGKILL of the JVM that is at work, again and again, warm or not."""


KILLS: Final = 20
"""Kills of a storm."""

CYCLE_SECONDS: Final = 40.0
"""Time between two kills of a storm, if a driver is at work again by then."""


def cause(fault: Fault, side: Side) -> Callable[[], None]:
    """Cause a fault; returns what ends it, which may take as long as the driver takes to stop.

    Raises:
        ChainError: if no driver is at work.
    """
    if fault is Fault.STORM:
        return partial(_storm, side)
    supervisor = Supervisor(side)
    program = driver_at_work(side, supervisor)
    if program is None:
        raise ChainError(f"no Spark driver of {side.root} is at work; see {side.logs}")
    if fault is Fault.RESTART:

        def restart() -> None:
            supervisor.stop_program(program)
            supervisor.start_program(program)

        return restart
    if fault is Fault.SUSPEND:
        _send(signal.SIGSTOP, side, program, of="")
    else:
        _send(signal.SIGKILL, side, program, of=_JVM)
    return lambda: None


def driver_starts(side: Side) -> int:
    """How often a Spark driver of the side was started."""
    supervisor = Supervisor(side)
    return sum(map(supervisor.starts, (SPARK, STANDBY)))


def _storm(side: Side) -> None:
    """Kill whatever is at work, KILLS times."""
    supervisor = Supervisor(side)
    for _ in range(KILLS):
        next_at = time.monotonic() + CYCLE_SECONDS
        while (program := driver_at_work(side, supervisor)) is None:
            if time.monotonic() > next_at + _MOST_SECONDS:
                raise ChainError(f"no Spark driver is at work again; see {side.logs}")
            time.sleep(_LOOK_SECONDS)
        _send(signal.SIGKILL, side, program, of=_JVM)
        time.sleep(max(0.0, next_at - time.monotonic()))


def _send(number: signal.Signals, side: Side, program: str, of: str) -> None:
    """Send a signal to the processes of a program that have a word in their command line."""
    for process in side_processes(side.root, program):
        with suppress(psutil.NoSuchProcess):  # a worker that has just ended by itself
            if of in " ".join(process.cmdline()):
                process.send_signal(number)


def two_at_work(side: Side) -> list[str]:
    """Partitions of `events` and `outbound` that two drivers wrote alternately, by the brokers' own logs."""
    folders = (
        folder
        for broker in BROKER_IDS[:1]  # every broker has a replica of each partition
        for topic in (Topic.EVENTS, Topic.OUTBOUND)
        for folder in (side.broker_folder(broker) / "log").glob(f"{topic}-[0-9]*")
    )
    return [folder.name for folder in folders if not writers_in_turn(_producers(folder))]


def _producers(folder: Path) -> "chain[int]":
    segments = sorted(folder.glob("*.log"))
    return chain.from_iterable(producer_ids(segment.read_bytes()) for segment in segments)
