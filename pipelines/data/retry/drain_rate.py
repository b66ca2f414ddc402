"""How fast what is due leaves. Pure.

Full jitter spreads n records evenly over a span; dealt out in the order of the topic, its draws are a steady
rate of n a span. Draws of transmit's own would be lost here: a partition is read in order, so a record leaves
when the latest of all draws before it is over, and of a burst nearly all would leave at the end of the span.
"""

from typing import Final, NamedTuple

BEAT_MS: Final = 1_000
"""Records leave in one go a second: transmit makes fewer and fuller requests of them."""

LEAST: Final = 500
"""Records a beat, however few wait: a usual request's worth."""


class Pace(NamedTuple):
    """The allowance of one partition."""

    rate: int = 0
    """Records a beat."""

    left: int = 0
    """Of this beat."""

    until_ms: int = 0
    """When the next beat begins, epoch milliseconds."""

    def spend(self, records: int) -> "Pace":
        """After so many left."""
        return self._replace(left=self.left - records)


def beat(pace: Pace, waiting: int, span_ms: float, now_ms: int) -> Pace:
    """The allowance at a moment while the first record is due.

    It never falls while something is due, so that whatever waits now has left when a span is over.

    Args:
        pace: the allowance so far.
        waiting: records in the partition that have not left, due or not.
        span_ms: over which they are to be spread; 0 lets all go at once.
        now_ms: epoch milliseconds.
    """
    if now_ms < pace.until_ms <= now_ms + BEAT_MS:  # a clock may be set back
        return pace
    wanted = -(-waiting * BEAT_MS // max(1, int(span_ms)))
    rate = max(pace.rate, wanted, LEAST)
    return Pace(rate, rate, now_ms + BEAT_MS)


def rest(pace: Pace) -> Pace:
    """The allowance when nothing is due: the next burst is judged by itself."""
    return pace._replace(rate=0)
