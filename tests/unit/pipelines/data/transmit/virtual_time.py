"""An event loop in which waiting takes no time: its clock jumps to when the next timer is due."""

import asyncio
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class VirtualLoop(asyncio.SelectorEventLoop):
    """For code that waits for timers alone, not for sockets or threads."""

    def __init__(self) -> None:
        super().__init__()
        self._now = 1_000.0

    def time(self) -> float:
        return self._now

    def _run_once(self) -> None:
        scheduled: list[asyncio.TimerHandle] = self._scheduled  # type: ignore[attr-defined]
        if not self._ready and scheduled:  # type: ignore[attr-defined]
            self._now = max(self._now, scheduled[0].when())
        super()._run_once()  # type: ignore[misc]


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
