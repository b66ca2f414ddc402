"""Limits the requests by which the fast lane tries slow destinations: one at a time, and rarely.

Each may take all the time that the fast lane waits for an answer, which delays the end of a micro-batch.
"""


class LaneProbes:
    """The probes of one process, over all destinations. Times are seconds of one monotonic clock."""

    def __init__(self, between: float) -> None:
        """`between`: shortest time from the start of one to the start of the next."""
        self._between = between
        self._running = False
        self._next = float("-inf")

    def may_begin(self, now: float) -> bool:
        """Whether a probe may begin."""
        return not self._running and now >= self._next

    def begin(self, now: float) -> None:
        """Begin one."""
        self._running, self._next = True, now + self._between

    def end(self) -> None:
        """End it."""
        self._running = False
