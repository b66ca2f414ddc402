"""Threads, connections, open files and memory of the Python processes of a side's Spark driver."""

import threading
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from typing import Final

import psutil
from msgspec import Struct

from scripts.local.process_marks import side_processes
from scripts.local.processes.spark_programs import SPARK
from scripts.local.side import Side

_EVERY_SECONDS: Final = 2.0


class ResourceUsage(Struct, frozen=True, kw_only=True):
    """Sums over the processes at one time."""

    threads: int
    connections: int
    """Established connections to the destinations."""

    files: int
    megabytes: int
    """Resident memory, MiB."""


def measure_usage(side: Side, port: int) -> ResourceUsage:
    """Usage now; `port` is the destinations'."""
    found = [process for process in side_processes(side.root, SPARK) if _is_python(process)]
    return ResourceUsage(
        threads=sum(process.num_threads() for process in found),
        connections=sum(_connections(process, port) for process in found),
        files=sum(process.num_fds() for process in found),
        megabytes=sum(process.memory_info().rss for process in found) >> 20,
    )


def _is_python(process: psutil.Process) -> bool:
    with suppress(psutil.Error):
        return "python" in process.name()
    return False


def _connections(process: psutil.Process, port: int) -> int:
    found = process.net_connections("tcp")
    return sum(1 for each in found if each.raddr and each.raddr.port == port)


@contextmanager
def sampled_usage(side: Side, port: int) -> Iterator[list[ResourceUsage]]:
    """A list to which a sample is added every two seconds until the block ends."""
    found: list[ResourceUsage] = []
    stopping = threading.Event()

    def watch() -> None:
        while not stopping.wait(_EVERY_SECONDS):
            with suppress(psutil.Error):  # a worker ended meanwhile
                found.append(measure_usage(side, port))

    thread = threading.Thread(target=watch, name="measure_usage", daemon=True)
    thread.start()
    try:
        yield found
    finally:
        stopping.set()
        thread.join()
