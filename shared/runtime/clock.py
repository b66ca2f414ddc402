"""Time as an argument."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Epoch milliseconds."""


def wall_clock() -> int:
    """The machine's time, epoch milliseconds."""
    return time.time_ns() // 1_000_000


def is_over(since_ms: int, interval_ms: float, now_ms: int) -> bool:
    """Whether an interval has passed since a time; both times are epoch milliseconds.

    A time in the future was read before the clock was set back. The interval counts as over then: what waits
    for it would else wait until the clock is there again.
    """
    return not 0 <= now_ms - since_ms < interval_ms
