"""CPU seconds by process of a side, as the operating system counts them."""

import resource
from collections import defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from contextlib import suppress
from pathlib import Path

import psutil

from shared.spark import worker_daemon

Seconds = dict[str, float]
"""CPU seconds, user and system, by role."""

OTHER = "helpers"

_ROLES = (
    ("kafka.Kafka", "broker"),
    ("pipelines.data.collect", "collect"),
    ("pipelines.data.retry", "retry"),
    ("hifi.process=executor", "spark executor"),
    ("org.apache.spark.deploy.SparkSubmit", "spark jvm"),  # its settings name the workers' daemon
    ("org.apache.spark.deploy", "spark cluster"),  # master and workers
    (worker_daemon.__name__, "spark python workers"),
    ("scripts.local.processes.driver", "spark driver"),
    ("pipelines.control.observe", "observe"),
    ("pipelines.control.canary", "canary"),
    ("pipelines.control.provision", "provision"),
    ("pipelines.management.console", "console"),
    ("LocalStore", "store"),
    ("scripts.experiments.harness.destination", "destination"),
    ("supervisor", "supervisor"),
)


def role(command: Sequence[str]) -> str:
    """Role of a process of a side, from its command line."""
    if "scripts.experiments.baseline" in command:
        return command[-1]
    for mark, found in _ROLES:
        if any(mark in part for part in command):
            return f"broker-{_broker(command)}" if found == "broker" else found
    return OTHER


def _broker(command: Sequence[str]) -> str:
    """The broker's number: the name of the folder of its configuration."""
    return Path(command[-1]).parent.name


def used(roots: Iterable[int]) -> Seconds:
    """CPU seconds so far of the process trees below `roots`, ended children included.

    The seconds of an ended child count as its parent's: the difference of two calls misses nothing as long as
    the parent lives.
    """
    totals: Seconds = defaultdict(float)
    for process in process_trees(roots):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            times = process.cpu_times()
            own, ended = times.user + times.system, times.children_user + times.children_system
            totals[role(process.cmdline())] += own + ended
    return dict(totals)


def of_ended_children() -> float:
    """CPU seconds so far of this process's ended children and their ended children."""
    found = resource.getrusage(resource.RUSAGE_CHILDREN)
    return found.ru_utime + found.ru_stime


def process_trees(roots: Iterable[int]) -> Iterator[psutil.Process]:
    """The processes `roots` and all below them, each once."""
    seen: set[int] = set()
    for root in roots:
        with suppress(psutil.NoSuchProcess):
            process = psutil.Process(root)
            for member in (process, *process.children(recursive=True)):
                if member.pid not in seen:
                    seen.add(member.pid)
                    yield member


def since(before: Mapping[str, float], after: Mapping[str, float]) -> Seconds:
    """CPU seconds between two calls of `used`; never negative, as a process may have been restarted."""
    return {name: max(0.0, seconds - before.get(name, 0.0)) for name, seconds in sorted(after.items())}


def per_million(seconds: Mapping[str, float], events: int) -> Seconds:
    """CPU seconds per million events; empty without events."""
    return {name: used * 1e6 / events for name, used in seconds.items()} if events else {}


def cores(seconds: Mapping[str, float], elapsed: float) -> Seconds:
    """Percent of one core over `elapsed` seconds."""
    return {name: used * 100 / elapsed for name, used in seconds.items()}
