"""How long delivery waits: for one destination, for one request, and for all of a task.

When this process gets no CPU for a while, every destination seems slow. So a wait is made of short ones,
and each counts as no longer than it should have lasted: the rest was our own delay.
"""

import asyncio
from collections.abc import Coroutine
from dataclasses import dataclass
from typing import Any, Final, TypeVar

_SLICE_SECONDS: Final = 0.05
_MOST_STRETCHED: Final = 4
"""Multiple of the timeout after which a wait ends, even if our own process caused the delay."""

_LOCAL_TRIES: Final = 1.25
"""Time from the first local try to the last, as a multiple of the limit for an answer."""

T = TypeVar("T")


@dataclass(frozen=True, slots=True, kw_only=True)
class WaitLimits:
    """How long a lane waits for one destination. Seconds."""

    answer: float = float("inf")
    """Most seconds for the answer to a request, or for the destination's rate limit."""

    turn: float = float("inf")
    """Most seconds for one of the destination's slots; then its events move to the slow lane."""

    behind: float = float("inf")
    """Most seconds that requests wait for turns, one after another, while nothing else is under way. The rest
    is left for later: see `Turns`."""

    @property
    def local_tries(self) -> float:
        """Most seconds for all local tries together."""
        return _LOCAL_TRIES * self.answer


class Deadline:
    """When all deliveries of a task must have ended, on the loop's clock. Used only on the loop's thread."""

    def __init__(self, now: float, seconds: float) -> None:
        """`seconds` from `now`, which is on the loop's clock."""
        self.at = now + seconds
        self.seconds = seconds

    def extend(self, seconds: float) -> None:
        """Move it into the future; other threads call this through `loop.call_soon_threadsafe`."""
        self.at += seconds


async def within(work: Coroutine[Any, Any, T], seconds: float) -> tuple[T, float]:
    """Await `work` for `seconds` at most; returns its result and how many seconds it took.

    `work` is cancelled when it takes longer or the caller is cancelled. It may have its result by then, and
    return that at once: a status of which only the body is missing.

    Raises:
        TimeoutError: if it takes longer.
        Exception: what `work` raises.
    """
    loop = asyncio.get_running_loop()
    task, spent, latest = loop.create_task(work), 0.0, loop.time() + _MOST_STRETCHED * seconds
    try:
        while spent < seconds and (now := loop.time()) < latest:
            part = min(_SLICE_SECONDS, seconds - spent)
            await asyncio.wait({task}, timeout=part)
            spent += min(part, loop.time() - now)
            if task.done():
                return task.result(), spent
        task.cancel()
        await asyncio.wait({task}, timeout=_SLICE_SECONDS)
        if task.cancelled() or not task.done():
            raise TimeoutError
        return task.result(), spent
    finally:
        task.cancel()
