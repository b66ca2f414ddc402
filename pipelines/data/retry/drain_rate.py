"""How fast records that are due leave a partition. Pure.

A burst is spread like full jitter would: n records evenly over a span, in the partition's order, at a steady
rate. A random delay for each record would not work: a partition is read in order, so each record would wait
for the longest delay before it, and nearly the whole burst would leave at the end of the span.
"""

from typing import Final, NamedTuple

INTERVAL_MS: Final = 1_000
"""Records leave once a second, together: transmit sends them in fewer and fuller requests."""

MIN_RECORDS: Final = 500
"""The lowest rate, in records per interval: about one request's worth."""


class DrainRate(NamedTuple):
    """How many records of one partition may leave."""

    rate: int = 0
    """Records per interval."""

    left: int = 0
    """Records that may still leave in this interval."""

    until_ms: int = 0
    """When the next interval begins, epoch milliseconds."""

    def spend(self, records: int) -> "DrainRate":
        """The same, with that many records fewer that may leave."""
        return self._replace(left=self.left - records)


def next_interval(drain: DrainRate, waiting: int, span_ms: float, now_ms: int) -> DrainRate:
    """The drain rate while the first record is due: a new one if the interval is over.

    The rate never falls while records are due, so that all that wait now have left when the span is over.

    Args:
        drain: the drain rate so far.
        waiting: records in the partition that are not written yet, due or not.
        span_ms: over which they are spread; with 0 all leave at once.
        now_ms: epoch milliseconds.
    """
    if now_ms < drain.until_ms <= now_ms + INTERVAL_MS:  # a clock may be set back
        return drain
    wanted = -(-waiting * INTERVAL_MS // max(1, int(span_ms)))
    rate = max(drain.rate, wanted, MIN_RECORDS)
    return DrainRate(rate, rate, now_ms + INTERVAL_MS)


def reset(drain: DrainRate) -> DrainRate:
    """The drain rate when nothing is due: the next burst gets a rate of its own."""
    return drain._replace(rate=0)
