"""Counts refused requests, so that a flood of them fills neither the audit log nor the log."""

import threading
from collections.abc import Hashable
from typing import Final

from shared.contracts.envelope import MINUTE_MS

_EACH: Final = 16
"""Refusals that are noted one by one; from then on each time that their number has doubled."""

_MOST: Final = 10_000
"""Reasons counted at a time; further ones are not noted before the next minute."""


class Refusals:
    """Counts the present minute's refusals by caller and reason. Thread-safe."""

    def __init__(self) -> None:
        self._lock = threading.Lock()
        self._minute = 0
        self._counts: dict[Hashable, tuple[int, int]] = {}

    def counted(self, reason: Hashable, at_ms: int) -> tuple[int, int] | None:
        """Count one; gives the time of the minute's first and how many, None if that need not be noted now.

        Args:
            reason: what is counted together.
            at_ms: epoch milliseconds.
        """
        with self._lock:
            self._begin(at_ms // MINUTE_MS)
            if reason not in self._counts and len(self._counts) >= _MOST:
                return None
            first, before = self._counts.get(reason, (at_ms, 0))
            count = before + 1
            self._counts[reason] = first, count
        return (first, count) if count <= _EACH or count & (count - 1) == 0 else None

    def _begin(self, minute: int) -> None:
        if minute > self._minute:
            self._minute = minute
            self._counts.clear()
