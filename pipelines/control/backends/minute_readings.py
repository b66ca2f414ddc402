"""The increase of a side's counters in each minute, from the last reading of each."""

from collections.abc import Callable
from typing import Final

from msgspec import Struct
from msgspec.structs import replace

from pipelines.control.backends.meter import MinuteUsage

_SECONDS: Final = 5.0
_KEPT: Final = 120


class Reading(Struct, frozen=True, kw_only=True):
    """A side's counters at one moment; None is not known."""

    cpu_seconds: float | None = None
    """Used by the processes that run, since they started."""

    memory_bytes: int | None = None
    changed: float | None = None
    """Canary events that arrived changed, since the canary started; None if it does not answer."""


class MinuteReadings:
    """The last reading of each minute; belongs to one thread."""

    def __init__(
        self, read: Callable[[], Reading], clock: Callable[[], float], monotonic: Callable[[], float]
    ) -> None:
        """`clock` gives epoch seconds."""
        self._read, self._clock, self._monotonic = read, clock, monotonic
        self._last: dict[int, Reading] = {}
        self._changed = 0.0
        """`changed` of the newest reading that was dropped."""

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
            self._changed = self._last.pop(minute).changed or 0

    def of(self, minute: int) -> MinuteUsage:
        """The usage of a minute: its reading against that of the minute before.

        What arrived changed is counted against the reading before it, however old. Against none if it is the
        first: who read before may have died, and the canary began with the side's code.
        """
        earlier = max((each for each in self._last if each < minute), default=None)
        changed = self._changed if earlier is None else self._last[earlier].changed or 0
        return added(self._last.get(minute - 1), self._last.get(minute), changed)


def added(before: Reading | None, after: Reading | None, changed_before: float) -> MinuteUsage:
    """The difference of two readings. Pure.

    Seconds that fell are not known: a process ended, Spark's Python workers do so at any time. A count of the
    canary's that fell is that of another canary, from its start.
    """
    if after is None:
        return MinuteUsage()
    return MinuteUsage(
        cpu_seconds=_used(before.cpu_seconds if before else None, after.cpu_seconds),
        memory_bytes=after.memory_bytes,
        changed=_more(changed_before, after.changed or 0),
    )


def _used(before: float | None, after: float | None) -> float | None:
    if before is None or after is None or after < before:
        return None
    return after - before


def _more(before: float, after: float) -> int:
    return int(after - before if after >= before else after)
