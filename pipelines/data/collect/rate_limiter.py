"""How fast a source may send: a token bucket in events, with an injected clock."""

import math
from collections.abc import Callable

BURST_SECONDS = 2.0
_ROUNDING = 1e-6  # seconds: who waited as told must not wait again for the last bit of a double

Seconds = Callable[[], float]
"""A monotonic clock."""


class Bucket:
    """Tokens of one source. It may go into debt, so a batch larger than the burst can pass a full bucket."""

    def __init__(self, rate: float, now: float) -> None:
        """`rate` in events per second; `now` in seconds of a monotonic clock."""
        self.rate = rate
        self._level = self._capacity = rate * BURST_SECONDS
        self._at = now

    def wait(self, events: int, now: float) -> float:
        """Seconds until that many events may pass; 0 when they may now."""
        self._level = min(self._capacity, self._level + (now - self._at) * self.rate)
        self._at = now
        wait = (min(events, self._capacity) - self._level) / self.rate
        return wait if wait > _ROUNDING else 0.0

    def take(self, events: int) -> None:
        """Count events that passed."""
        self._level -= events


class Limiter:
    """The buckets of all sources that have a limit."""

    def __init__(self, clock: Seconds) -> None:
        self._clock = clock
        self._buckets: dict[str, Bucket] = {}

    def retry_after(self, source: str, rate: float | None, events: int) -> int:
        """Whole seconds the sender has to wait; 0 lets the events pass, and counts them.

        A source whose rate was changed starts with a full bucket.
        """
        if rate is None:
            return 0
        now = self._clock()
        bucket = self._buckets.get(source)
        if bucket is None or bucket.rate != rate:
            bucket = self._buckets[source] = Bucket(rate, now)
        wait = bucket.wait(events, now)
        if wait > 0:
            return math.ceil(wait)
        bucket.take(events)
        return 0
