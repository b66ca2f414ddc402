"""Time as an argument."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Epoch milliseconds."""


def wall_clock() -> int:
    """The machine's time, epoch milliseconds."""
    return time.time_ns() // 1_000_000
