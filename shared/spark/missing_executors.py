"""Decides when a driver ends because its cluster gives it no executors. Pure.

Spark's master may answer that it has registered a driver, and keep it in no list of those that get executors.
The driver cannot tell that from a cluster without room; a new process registers anew.
"""

from collections.abc import Callable
from typing import Final

MISSING_LOOKS: Final = 900
"""A driver ends after so many looks without an executor, a second or more apart: a quarter of an hour. A side
that wakes up in AWS needs the most: Spot may have no capacity for three minutes, then another group's nodes
start for three, images are pulled, and two JVMs start. Three drivers that end by this undo a release.
Looks are counted, not seconds: while the machine stands still, time passes, and no executor could come."""

_LOOK_SECONDS: Final = 1.0


class MissingExecutors:
    """Counts the looks since an executor was there, or since the start."""

    def __init__(self, monotonic: Callable[[], float]) -> None:
        """Begin to count.

        Args:
            monotonic: seconds of a clock that never goes back.
        """
        self._monotonic = monotonic
        self._looks, self._looked = 0, monotonic()

    def too_long(self, present: bool) -> bool:
        """Look once: whether the driver has been without executors for too long.

        Args:
            present: whether anything takes the driver's tasks.
        """
        now = self._monotonic()
        if present:
            self._looks, self._looked = 0, now
        elif now - self._looked >= _LOOK_SECONDS:
            self._looks, self._looked = self._looks + 1, now
        return self._looks >= MISSING_LOOKS
