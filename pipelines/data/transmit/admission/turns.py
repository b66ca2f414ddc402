"""The turns of one destination in the slow lane, one in each micro-batch. For one event loop.

What it does not take in its turn is set aside, so that the micro-batch, and with it the events of others that
come meanwhile, need not wait for it.
"""

import asyncio
from collections.abc import Callable, Sequence
from dataclasses import dataclass

from pipelines.data.transmit.admission import backlog as backlogs
from pipelines.data.transmit.admission import throughput as throughputs
from pipelines.data.transmit.admission import turn_window as windows
from pipelines.data.transmit.connectors.base import Answer


@dataclass(frozen=True, slots=True)
class TurnOver:
    """The destination has had its turn in this micro-batch."""

    seconds: float
    """How long the events should wait before they come back."""


class Turns:
    """The present turn of a destination, and what former ones have shown."""

    def __init__(self, window: float, limit: float | None, seconds: Callable[[], float]) -> None:
        """A turn lasts `window` seconds; `limit` is the destination's `limits.rate`."""
        self._window = window
        self._limit = limit
        self._seconds = seconds
        self._of: object = None
        self._turn = windows.opened(throughputs.Throughput(), window, 0.0)
        self._known = throughputs.Throughput()
        self._backlog = backlogs.Backlog()
        self._was_limited = False
        self._changed = asyncio.Event()

    @property
    def behind(self) -> bool:
        """Whether events were set aside in this turn or the one before."""
        return self._turn.limited or self._was_limited

    @property
    def seconds_left(self) -> float:
        """Seconds in which requests may still start."""
        return max(0.0, self._turn.closes - self._seconds())

    def closes(self, of: object) -> float:
        """When the turn closes in the micro-batch `of`, in which it begins now if it has not begun."""
        if self._of is not of:
            if (shown := windows.result(self._turn)) is not None:
                self._known = throughputs.after_turn(self._known, shown)
            self._of, self._was_limited = of, self._turn.limited
            self._turn = windows.opened(self._known, self._window, self._seconds())
        return self._turn.closes

    async def start(self, events: int) -> bool:
        """Start a request of so many events as soon as it may; False if the turn is over before."""
        while (may := windows.admittance(self._turn, events, self._seconds())) == "wait":
            try:
                async with asyncio.timeout_at(self._turn.closes):
                    await self._changed.wait()
            except TimeoutError:
                return False
        if may == "over":
            return False
        self._turn = windows.started(self._turn, events)
        return True

    def answered(self, answers: Sequence[Answer], seconds: float) -> None:
        """Note the answers to a request that took so many seconds."""
        taken = throughputs.taken(answers)
        self._turn = windows.answered(self._turn, taken, seconds, self._seconds())

    def end(self) -> None:
        """End a request that was started."""
        self._turn = windows.ended(self._turn)
        self._changed.set()
        self._changed = asyncio.Event()

    def set_aside(self, events: int) -> TurnOver:
        """Set events aside, for as long as the destination will need for those before them."""
        now = self._seconds()
        self._turn = windows.limited(self._turn)
        seconds = backlogs.delay(self._backlog, events, self._rate(), now)
        self._backlog = backlogs.after_setting_aside(self._backlog, events, seconds, now)
        return TurnOver(seconds)

    def _rate(self) -> float | None:
        """Events a second that it takes, by what is known so far."""
        shown, known = windows.result(self._turn), self._known
        rate = (known if shown is None else throughputs.after_turn(known, shown)).rate
        return min((each for each in (rate, self._limit) if each is not None), default=None)
