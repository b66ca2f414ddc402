"""What a side's chain uses, and how many canary events it changed, minute by minute."""

import time
import urllib.request
from collections.abc import Callable, Mapping
from typing import Final

import psutil
from msgspec import Struct
from msgspec.structs import replace
from prometheus_client.parser import text_string_to_metric_families

from pipelines.control.backends.meter import MinuteUsage
from scripts.local.process_marks import PROGRAM, side_processes
from scripts.local.processes.programs import COLLECT, RETRY, SPARK
from scripts.local.side import Side
from shared.runtime.metrics import CanaryMetric

_CHAIN: Final = frozenset({COLLECT, RETRY, SPARK})
_SECONDS: Final = 5.0
_ANSWER_SECONDS: Final = 2.0
_KEPT: Final = 120


class Reading(Struct, frozen=True, kw_only=True):
    """What counters say at one moment."""

    cpu_seconds: float
    """Used by the processes that run, since they started."""

    memory_bytes: int
    changed: float | None
    """Canary events that arrived changed, since the canary started; None if it does not answer."""


class Usage:
    """The last reading of each minute; belongs to one thread."""

    def __init__(
        self, read: Callable[[], Reading], clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        """`clock` gives epoch seconds."""
        self._read, self._clock, self._monotonic = read, clock, monotonic
        self._last: dict[int, Reading] = {}
        self._read_at = float("-inf")

    def look(self) -> None:
        """Take a reading, unless the last one is a few seconds old."""
        if self._monotonic() - self._read_at < _SECONDS:
            return
        self._read_at = self._monotonic()
        found = self._read()
        if found.changed is None and self._last:  # it is busy, or stopped: what it said last still holds
            found = replace(found, changed=self._last[max(self._last)].changed)
        self._last[int(self._clock() // 60)] = found
        for minute in sorted(self._last)[:-_KEPT]:
            del self._last[minute]

    def of(self, minute: int) -> MinuteUsage:
        """What a minute added to the one before."""
        return added(self._last.get(minute - 1), self._last.get(minute))


def added(before: Reading | None, after: Reading | None) -> MinuteUsage:
    """The difference of two readings.

    Seconds that fell are not known: a process ended, Spark's Python workers do so at any time. A count of the
    canary's that fell is that of another canary, from its start.
    """
    if after is None:
        return MinuteUsage()
    if before is None:
        return MinuteUsage(memory_bytes=after.memory_bytes)
    used = after.cpu_seconds - before.cpu_seconds
    return MinuteUsage(
        cpu_seconds=used if used >= 0 else None,
        memory_bytes=after.memory_bytes,
        changed=_more(before.changed or 0, after.changed or 0),
    )


def _more(before: float, after: float) -> int:
    return int(after - before if after >= before else after)


def usage_of(side: Side) -> Usage:
    """The usage of a local side."""
    return Usage(lambda: _reading(side), time.time, time.monotonic)


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
            return sum(_samples(reply.read().decode()).values())
    except OSError:
        return None


def _samples(metrics: str) -> Mapping[str, float]:
    """By pipe, events that arrived changed."""
    return {
        sample.labels.get("pipe", ""): sample.value
        for family in text_string_to_metric_families(metrics)
        for sample in family.samples
        if sample.name == f"{CanaryMetric.WRONG}_total"
    }
