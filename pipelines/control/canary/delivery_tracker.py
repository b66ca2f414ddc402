"""Tracks which events were sent, acknowledged, delivered, or are missing. No I/O; time is an argument."""

from collections import deque
from collections.abc import Iterable
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Final

from shared.runtime.percentiles import percentile_95

_LAG_MS: Final = 60_000
_DONE_MS: Final = 10 * 60_000
"""How long completed and unacknowledged events are kept, to recognise second arrivals."""

_GONE_MS: Final = 25 * 3_600_000
"""hifi retries for 24 hours; after that an event will not arrive."""


class Arrival(StrEnum):
    """Kinds of arrivals."""

    FIRST = "first"
    AGAIN = "again"
    STRANGE = "strange"
    """An event that this process did not send or has dropped, such as an earlier canary's."""


@dataclass(slots=True)
class _Event:
    sent_ms: int
    acknowledged_ms: int | None = None
    arrived: set[str] = field(default_factory=set)


class DeliveryTracker:
    """The events of one run, by pipe. For one thread."""

    def __init__(self, pipes: Iterable[str], missing_ms: int) -> None:
        """An acknowledged event that has not arrived for `missing_ms` is missing."""
        self._pipes = tuple(pipes)
        self._missing_ms = missing_ms
        self._events: dict[str, _Event] = {}
        self._lags: deque[tuple[int, int]] = deque()

    def send(self, ids: Iterable[str], now_ms: int) -> None:
        """Events are about to be sent: they may arrive before their request is answered."""
        self._events.update((each, _Event(now_ms)) for each in ids)

    def acknowledge(self, ids: Iterable[str], now_ms: int) -> None:
        """Collect accepted events: every pipe now owes them."""
        for each in ids:
            self._events[each].acknowledged_ms = now_ms

    def arrive(self, pipe: str, event_id: str, now_ms: int) -> Arrival:
        """Record the arrival of an event through a pipe."""
        event = self._events.get(event_id)
        if event is None:
            return Arrival.STRANGE
        if pipe in event.arrived:
            return Arrival.AGAIN
        event.arrived.add(pipe)
        self._drop_old_lags(now_ms)  # p95() may never be asked for
        self._lags.append((now_ms, max(0, now_ms - event.sent_ms)))
        return Arrival.FIRST

    def owed(self, now_ms: int) -> bool:
        """Whether an acknowledged event that is not missing yet has not arrived through every pipe."""
        return any(now_ms - since <= self._missing_ms for since, _ in self._open())

    def missing(self, now_ms: int) -> dict[str, int]:
        """Events of each pipe that were acknowledged long ago and have not arrived."""
        late = [event for since, event in self._open() if now_ms - since > self._missing_ms]
        return {pipe: sum(pipe not in event.arrived for event in late) for pipe in self._pipes}

    def _open(self) -> list[tuple[int, _Event]]:
        """Acknowledged events that have not arrived everywhere, and when they were acknowledged."""
        return [
            (event.acknowledged_ms, event)
            for event in self._events.values()
            if event.acknowledged_ms is not None and not self._everywhere(event)
        ]

    def _everywhere(self, event: _Event) -> bool:
        return len(event.arrived) == len(self._pipes)

    def p95(self, now_ms: int) -> int | None:
        """p95 from sending to arrival, ms, over all pipes in the last minute; None without arrivals."""
        self._drop_old_lags(now_ms)
        return percentile_95([lag for _, lag in self._lags]) if self._lags else None

    def _drop_old_lags(self, now_ms: int) -> None:
        while self._lags and self._lags[0][0] < now_ms - _LAG_MS:
            self._lags.popleft()

    def forget(self, now_ms: int) -> None:
        """Drop events that are complete or too old."""
        gone = [each for each, event in self._events.items() if now_ms - event.sent_ms > self._kept_ms(event)]
        for each in gone:
            del self._events[each]

    def _kept_ms(self, event: _Event) -> int:
        done = event.acknowledged_ms is None or self._everywhere(event)
        return max(_DONE_MS, self._missing_ms) if done else _GONE_MS
