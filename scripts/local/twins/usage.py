"""Reads what a local side's chain uses, and how many canary events it changed."""

import time
import urllib.request
from typing import Final

import psutil

from pipelines.control.backends.canary_metrics import changed_events
from pipelines.control.backends.minute_readings import MinuteReadings, Reading
from scripts.local.process_marks import PROGRAM, side_processes
from scripts.local.processes.programs import COLLECT, RETRY, SPARK
from scripts.local.side import Side

_CHAIN: Final = frozenset({COLLECT, RETRY, SPARK})
_ANSWER_SECONDS: Final = 2.0


def usage_of(side: Side) -> MinuteReadings:
    """What a local side uses, minute by minute."""
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
    try:
        with urllib.request.urlopen(f"{side.canary_url}/metrics", timeout=_ANSWER_SECONDS) as reply:  # noqa: S310 - our own
            return changed_events(reply.read().decode())
    except OSError:
        return None
