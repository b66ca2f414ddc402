"""Reads what a local side's chain uses, and how many canary events it changed."""

import time
from typing import Final

import psutil

from pipelines.control.backends.canary_metrics import changed_events
from pipelines.control.backends.minute_readings import MinuteReadings, Reading
from scripts.local.process_marks import PROGRAM, side_processes
from scripts.local.processes.programs import COLLECT, RETRY
from scripts.local.processes.spark_programs import SPARK
from scripts.local.scraped import scraped
from scripts.local.side import Side

_CHAIN: Final = frozenset({COLLECT, RETRY, SPARK})


def usage_of(side: Side) -> MinuteReadings:
    """A local side's usage, minute by minute."""
    return MinuteReadings(lambda: _reading(side), time.time, time.monotonic)


def _reading(side: Side) -> Reading:
    cpu, memory = 0.0, 0
    for process in side_processes(side.root):
        try:
            if process.environ().get(PROGRAM) in _CHAIN:
                times = process.cpu_times()
                cpu += times.user + times.system
                memory += process.memory_info().rss
        except psutil.Error:
            continue  # it has ended
    return Reading(cpu_seconds=cpu, memory_bytes=memory, changed=_changed(side))


def _changed(side: Side) -> float | None:
    metrics = scraped(side.canary_url)
    return None if metrics is None else changed_events(metrics)
