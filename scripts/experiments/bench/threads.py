"""CPU time by thread of a JVM."""

import re
import shutil
import subprocess
from collections import defaultdict
from collections.abc import Iterable, Mapping
from pathlib import Path

import psutil

from scripts.experiments.harness.cpu import Seconds, role

JVM_ROLE = "spark jvm"
_JSTACK_SECONDS = 20.0
_DUMPED = re.compile(r'^"(?P<name>.+?)" .*\bnid=(?P<id>0x[0-9a-f]+|\d+)', re.MULTILINE)
_NUMBERS = re.compile(r"\b[0-9a-f]{8}(-[0-9a-f]{4}){3}-[0-9a-f]{12}\b|\d+(\.\d+)*")
_TASKS = re.compile(r"(?<=Executor task) (launch|idle) worker.*")


def jvm(roots: Iterable[int]) -> int | None:
    """Process id of the Spark driver's JVM below `roots`."""
    for root in roots:
        for process in psutil.Process(root).children(recursive=True):
            if role(process.cmdline()) == JVM_ROLE:
                return process.pid
    return None


def thread_seconds(pid: int) -> dict[int, float]:
    """CPU seconds so far by thread id.

    Raises:
        psutil.NoSuchProcess: if it has ended.
    """
    return {thread.id: thread.user_time + thread.system_time for thread in psutil.Process(pid).threads()}


def thread_names(pid: int) -> dict[int, str]:
    """Names by thread id: Java's own if `jstack` is installed, else the system's truncated ones."""
    names = {thread.id: _system_name(pid, thread.id) for thread in psutil.Process(pid).threads()}
    jstack = shutil.which("jstack")
    if jstack:
        command = [jstack, str(pid)]
        dump = subprocess.run(command, capture_output=True, text=True, timeout=_JSTACK_SECONDS, check=False)
        names |= dumped_names(dump.stdout)
    return names


def _system_name(pid: int, thread: int) -> str:
    path = Path("/proc", str(pid), "task", str(thread), "comm")
    return path.read_text().strip() if path.exists() else "unnamed"


def dumped_names(dump: str) -> dict[int, str]:
    """Names by system thread id in a Java thread dump."""
    return {int(found["id"], 0): found["name"] for found in _DUMPED.finditer(dump)}


def by_kind(
    before: Mapping[int, float], after: Mapping[int, float], names: Mapping[int, str], elapsed: float
) -> Seconds:
    """Percent of one core by kind of thread, greatest first; numbers in names are ignored."""
    totals: Seconds = defaultdict(float)
    for thread, seconds in after.items():
        totals[kind(names.get(thread, "ended"))] += (seconds - before.get(thread, 0.0)) * 100 / elapsed
    return dict(sorted(totals.items(), key=lambda item: -item[1]))


def kind(name: str) -> str:
    """A thread's name without the numbers that distinguish it from its siblings."""
    return _NUMBERS.sub("N", _TASKS.sub("", name))
