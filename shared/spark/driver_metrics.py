"""CPU time and memory of a Spark driver's processes: its Python, its JVM and the JVM's Python workers."""

from collections.abc import Iterable, Iterator
from contextlib import suppress
from typing import Final, NamedTuple

import psutil
from prometheus_client.core import CounterMetricFamily, GaugeMetricFamily, Metric
from prometheus_client.registry import Collector

from shared.runtime.metrics import SparkMetric

DRIVER: Final = "driver"
JVM: Final = "jvm"
WORKERS: Final = "workers"
PARTS: Final = (DRIVER, JVM, WORKERS)


class Cost(NamedTuple):
    """CPU time and memory of one part."""

    cpu_seconds: float
    memory_bytes: int


class PartsCollector(Collector):
    """Measures at each scrape; costs nothing in between."""

    def __init__(self, pid: int) -> None:
        """`pid` is the driver's process id."""
        self._pid = pid
        self._most = dict.fromkeys(PARTS, 0.0)

    def collect(self) -> Iterable[Metric]:
        """Called by the registry."""
        cpu = CounterMetricFamily(
            SparkMetric.CPU_SECONDS, "CPU time, ended processes included", labels=["part"]
        )
        memory = GaugeMetricFamily(SparkMetric.MEMORY_BYTES, "Resident memory", labels=["part"])
        for part, cost in costs(self._pid).items():
            # A worker's CPU time is missing for a moment, between its end and its parent's wait.
            self._most[part] = max(self._most[part], cost.cpu_seconds)
            cpu.add_metric([part], self._most[part])
            memory.add_metric([part], cost.memory_bytes)
        return cpu, memory

    def describe(self) -> Iterable[Metric]:
        """Called at registration, when nothing has to be measured yet."""
        return ()


def costs(pid: int) -> dict[str, Cost]:
    """CPU seconds and resident bytes of each part below a driver.

    An ended process counts as its parent's, and one that the JVM waited for is a worker's: their sum never
    falls as long as the JVM lives.
    """
    total = dict.fromkeys(PARTS, Cost(0.0, 0))
    for part, cost in _processes(pid):
        known = total[part]
        total[part] = Cost(known.cpu_seconds + cost.cpu_seconds, known.memory_bytes + cost.memory_bytes)
    return total


def _processes(pid: int) -> Iterator[tuple[str, Cost]]:
    driver = psutil.Process(pid)
    yield DRIVER, _own(driver)
    for child in driver.children():
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            yield JVM, _own(child)
            yield WORKERS, _ended(child)
            yield from _workers(child)


def _workers(jvm: psutil.Process) -> Iterator[tuple[str, Cost]]:
    for worker in jvm.children(recursive=True):
        with suppress(psutil.NoSuchProcess, psutil.ZombieProcess):
            yield WORKERS, _own(worker)
            yield WORKERS, _ended(worker)


def _own(process: psutil.Process) -> Cost:
    times = process.cpu_times()
    return Cost(times.user + times.system, process.memory_info().rss)


def _ended(process: psutil.Process) -> Cost:
    times = process.cpu_times()
    return Cost(times.children_user + times.children_system, 0)
