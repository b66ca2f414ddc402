"""A destination's rate limit: when a request may pass, and when events that came too early return. Pure."""

from dataclasses import dataclass, replace
from typing import Final, Self

from shared.contracts.topics import RETRY_DELAYS
from shared.runtime.token_bucket import TokenBucket

_BURST_SECONDS: Final = 1.0
_DELAYS: Final = [delay.total_seconds() for delay in RETRY_DELAYS.values()]
_SHORTEST: Final = _DELAYS[0]
_LONGEST: Final = _DELAYS[-1]
"""Delays of the retry topics, seconds."""


@dataclass(frozen=True, slots=True)
class RateLimit:
    """All times are seconds of one monotonic clock."""

    passing: TokenBucket
    returning: TokenBucket
    """Paces events that came too early: they return as fast as they may pass, not all at once."""

    @classmethod
    def of(cls, rate: float) -> Self:
        """A limit of `rate` events a second."""
        return cls(TokenBucket(rate, _BURST_SECONDS), TokenBucket(rate, 0.0))

    def wait(self, now: float) -> float:
        """Seconds until a request may pass."""
        return self.passing.wait(now)

    def after(self, events: int, now: float) -> "RateLimit":
        """The limit after a request with `events` passed."""
        return replace(self, passing=self.passing.after(events, now))

    def taken_back(self, events: int, now: float) -> "RateLimit":
        """The limit if a request that is still waiting, and that `after` has counted, does not pass."""
        return replace(self, passing=self.passing.after(-events, now))

    def booked(self, events: int, now: float) -> tuple["RateLimit", float]:
        """The limit after `events` were sent back, and the seconds after which they should return.

        Events that would wait longer than retry's longest delay get that delay, and book no time: otherwise
        the destination would be idle when they return early. They are sent back again then.
        """
        wait = max(self.passing.wait(now), self.returning.wait(now), _SHORTEST)
        if wait > _LONGEST:
            return self, _LONGEST
        return replace(self, returning=self.returning.after(events, now + wait)), wait
