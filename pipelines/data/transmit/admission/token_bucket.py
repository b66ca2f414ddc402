"""A token bucket as one number: the moment at which all that was let through is paid for. Pure.

The generic cell rate algorithm (ITU-T I.371, annex A, virtual scheduling), for several cells at once.
"""

from dataclasses import dataclass
from typing import Final

BURST_SECONDS: Final = 1.0
"""Of the rate may go at once after a rest."""


@dataclass(frozen=True, slots=True)
class Bucket:
    """Of one destination. Seconds of one clock that never goes back."""

    rate: float
    """Events a second."""

    paid: float = float("-inf")

    def wait(self, now: float) -> float:
        """Seconds until something may go; how much it is only counts afterwards."""
        return max(0.0, self.paid - BURST_SECONDS - now) if self.paid > now else 0.0

    def after(self, events: int, now: float) -> "Bucket":
        """The bucket after `events` that go as soon as they may."""
        return Bucket(self.rate, max(self.paid, now) + events / self.rate)
