"""Time as an argument."""

import time
from collections.abc import Callable

Clock = Callable[[], int]
"""Epoch milliseconds."""


def wall_clock() -> int:
    """Epoch milliseconds of the machine."""
    return time.time_ns() // 1_000_000
