"""Whether events have kept hifi's promise for a while: nothing is released beside a side that compiles."""

import time
from collections.abc import Callable
from typing import Final

from shared.contracts.ledger import GOOD_MS

KEPT_SECONDS: Final = 30.0
"""How long p95 must be good at each look."""

MOST_SECONDS: Final = 900.0
"""A side that is not warm by then never will be on this machine."""


class PromiseWatch:
    """Follows the p95 of a load, from one thread or several."""

    def __init__(self, monotonic: Callable[[], float] = time.monotonic) -> None:
        self._monotonic = monotonic
        self._slow_at = monotonic()

    def arrived(self, p95_ms: int | None) -> None:
        """Take in the p95 of the events since the last look; None if none arrived."""
        if p95_ms is None or p95_ms > GOOD_MS:
            self._slow_at = self._monotonic()

    @property
    def kept(self) -> bool:
        """Whether it has been good for KEPT_SECONDS."""
        return self._monotonic() >= self._slow_at + KEPT_SECONDS
