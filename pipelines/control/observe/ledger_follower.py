"""Reads the ledger: to its end first, then as it grows, with a pass of the control loop from time to time."""

import threading
from time import monotonic
from typing import Final

from pipelines.control.observe.catch_up import CatchUp
from pipelines.control.observe.control_loop import ControlLoop
from pipelines.control.observe.ledger.reader import LedgerReader
from pipelines.control.observe.retirement import Retirement

_PAUSE_SECONDS: Final = 1.0
_TURN_SECONDS: Final = 0.5


class LedgerFollower:
    """Belongs to the thread of the control loop."""

    def __init__(  # noqa: PLR0913  # what reads, and what is done with it
        self,
        *,
        reader: LedgerReader,
        loop: ControlLoop,
        catch_up: CatchUp,
        retirement: Retirement,
        look_seconds: float,
        stopping: threading.Event,
    ) -> None:
        self._reader, self._loop, self._catch_up, self._retirement = reader, loop, catch_up, retirement
        self._look_seconds, self._stopping = look_seconds, stopping
        self._looked = -look_seconds
        self._live = False
        """Whether the end of the ledger was reached once."""

        self._waits = False
        """Whether memory holds as much as it may, and the store fails: nothing more is read meanwhile."""

    def turn(self) -> bool:
        """A batch of the ledger, and what is due after it; whether there was a pass of the control loop."""
        if self._waits:
            self._stopping.wait(_PAUSE_SECONDS)
        else:
            self._loop.enter(self._reader.take(_TURN_SECONDS))
        self._live = self._live or self._reader.ready  # what is left then is judged in the first pass
        if not self._live:
            self._waits = not self._catch_up.turn()
            return False
        return self._look()

    def _look(self) -> bool:
        """A pass, if it is time, or as soon as memory is full: a pass stores, and retires what it may."""
        full = self._retirement.full and not self._waits
        if not full and monotonic() - self._looked < self._look_seconds:
            return False
        self._loop.look()
        self._looked = (
            monotonic()
        )  # its end, so that there is time to read between passes, however long one is
        self._waits = self._retirement.full
        return True
