"""What happens to the Spark driver at work, and whether ever two were."""

import signal
from collections.abc import Callable
from contextlib import suppress
from enum import StrEnum
from itertools import chain
from pathlib import Path

import psutil

from scripts.experiments.harness.subprocesses import ChainError
from scripts.experiments.takeover.partition_writers import producer_ids, writers_in_turn
from scripts.local.addresses import BROKER_IDS
from scripts.local.process_marks import side_processes
from scripts.local.processes.supervisor import Supervisor
from scripts.local.services import driver_at_work
from scripts.local.side import Side
from shared.contracts.topics import Topic

_JVM = "org.apache.spark.deploy.SparkSubmit"


class Fault(StrEnum):
    """What happens to the driver at work."""

    KILL = "kill"
    """SIGKILL of its JVM."""

    SUSPEND = "suspend"
    """SIGSTOP of all its processes; they are never continued."""

    RESTART = "restart"
    """SIGTERM, as for new code; then the program is started again."""


def cause(fault: Fault, side: Side) -> Callable[[], None]:
    """Cause a fault; returns what ends it, which may take as long as the driver takes to stop.

    Raises:
        ChainError: if no driver is at work.
    """
    supervisor = Supervisor(side)
    program = driver_at_work(side, supervisor)
    if program is None:
        raise ChainError(f"no Spark driver of {side.root} is at work; see {side.logs}")
    if fault is Fault.RESTART:

        def restart() -> None:
            supervisor.stop_program(program)
            supervisor.start_program(program)

        return restart
    for process in side_processes(side.root, program):
        with suppress(psutil.NoSuchProcess):  # a worker that has just ended by itself
            if fault is Fault.SUSPEND or _JVM in process.cmdline():
                process.send_signal(signal.SIGSTOP if fault is Fault.SUSPEND else signal.SIGKILL)
    return lambda: None


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
