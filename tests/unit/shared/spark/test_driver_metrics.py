"""CPU and memory of the processes below a Spark driver, by their place in the tree."""

import os
import subprocess
import sys
import time
from collections.abc import Iterator
from contextlib import suppress

import psutil
import pytest

from shared.spark.driver_metrics import DRIVER, JVM, WORKERS, costs

BURN = "import time\nwhile time.process_time() < 0.3: pass\n"
START = "import subprocess, sys, time\n"
JAVA = (
    START
    + f"""
subprocess.run([sys.executable, "-c", {BURN!r}])  # a worker that ended
subprocess.Popen([sys.executable, "-c", {BURN + "time.sleep(600)"!r}])
print("up", flush=True)
time.sleep(600)
"""
)
TREE = START + f"subprocess.run([sys.executable, '-c', {JAVA!r}])"


@pytest.fixture
def driver() -> Iterator[subprocess.Popen[str]]:
    """A process, its child in the JVM's place, and that one's children: one dead, one alive."""
    process = subprocess.Popen([sys.executable, "-c", TREE], stdout=subprocess.PIPE, text=True)
    try:
        assert process.stdout is not None
        assert process.stdout.readline() == "up\n"
        yield process
    finally:
        family = [psutil.Process(process.pid), *psutil.Process(process.pid).children(recursive=True)]
        for each in family:
            with suppress(psutil.NoSuchProcess):
                each.kill()
        process.communicate()


def own_seconds(process: psutil.Process) -> float:
    times = process.cpu_times()
    return times.user + times.system


def test_workers_cost_counts_those_that_ended(driver: subprocess.Popen[str]) -> None:
    deadline = time.monotonic() + 120
    while (found := costs(driver.pid))[WORKERS].cpu_seconds < 0.5:  # 0.3 of each, in ticks of 0.01
        assert time.monotonic() < deadline, found
        time.sleep(0.05)
    # Both are idle by now; how long their start took depends on the machine.
    top = psutil.Process(driver.pid)
    assert found[DRIVER].cpu_seconds == pytest.approx(own_seconds(top), abs=0.05)
    assert found[JVM].cpu_seconds == pytest.approx(own_seconds(top.children()[0]), abs=0.05)
    assert all(cost.memory_bytes > 1e6 for cost in found.values())


def test_a_process_without_children_is_a_driver_alone() -> None:
    found = costs(os.getpid())
    assert found[DRIVER].memory_bytes == pytest.approx(psutil.Process().memory_info().rss, rel=0.5)
