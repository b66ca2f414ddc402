"""A token bucket as one number: the moment at which everything that passed is paid for. Pure.

The generic cell rate algorithm (ITU-T I.371, annex A, virtual scheduling), for several events at once.
"""

from dataclasses import dataclass, replace
from typing import Final

_ROUNDING: Final = 1e-6
"""Seconds. A caller that waited exactly as long as `wait` said must not wait again for a rounding error."""


@dataclass(frozen=True, slots=True)
class TokenBucket:
    """Limits events to a rate. All times are seconds of one monotonic clock.

    It may go into debt: a batch larger than the burst passes a full bucket, and later ones wait.
    """

    rate: float
    """Events per second, more than 0."""

    burst_seconds: float
    """How many seconds' worth of events a full bucket lets pass at once."""

    paid_at: float = float("-inf")

    def wait(self, now: float, events: int = 0) -> float:
        """Seconds until `events` may pass; 0 if they may now. With 0 events: until the debt is paid."""
        if self.paid_at <= now:
            return 0.0
        needed = min(events / self.rate, self.burst_seconds)
        wait = self.paid_at - now - self.burst_seconds + needed
        return wait if wait > _ROUNDING else 0.0

    def after(self, events: int, now: float) -> "TokenBucket":
        """The bucket after `events` passed."""
        return replace(self, paid_at=max(self.paid_at, now) + events / self.rate)
