"""Whether a driver has executors at work while another one rehearses."""

import threading
import time
from collections.abc import Callable
from typing import Final

_LOOK_SECONDS: Final = 2.0
_SOON_SECONDS: Final = 0.5
_MOST_SILENT: Final = 5
"""Looks in a row; the driver of a busy machine may miss one or two."""


class OthersAtWork:
    """Whether other executors take the driver's tasks. Once there were none, that does not change."""

    def __init__(
        self, count: Callable[[], int | None], sleep: Callable[[float], object] = time.sleep
    ) -> None:
        """`count` returns the driver's executors, or None while it does not answer; `sleep` takes seconds."""
        self.found = True
        """Whether there are any, as far as was seen."""

        self._count, self._sleep, self._silent = count, sleep, 0

    def look(self) -> None:
        """Ask once. A driver that was silent for several looks has none."""
        count = self._count()
        self._silent = self._silent + 1 if count is None else 0
        self.found = self.found and count != 0 and self._silent < _MOST_SILENT

    def look_first(self) -> None:
        """Ask until the driver has answered, or was silent for long."""
        self.look()
        while self.found and self._silent:
            self._sleep(_SOON_SECONDS)
            self.look()

    def watch(self, stopping: threading.Event) -> None:
        """Ask now and then, until there are none or it is to stop; for a thread of its own."""
        while self.found and not stopping.wait(_LOOK_SECONDS):
            self.look()
