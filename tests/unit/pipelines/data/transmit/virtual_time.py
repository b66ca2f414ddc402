"""An event loop without real waiting: its clock jumps to the next timer."""

import asyncio
import selectors
from collections.abc import Coroutine
from typing import Any, TypeVar

T = TypeVar("T")


class _Clock(selectors.DefaultSelector):
    """The place where a loop waits: time passes only here."""

    now = 1_000.0
    """Seconds."""

    def select(self, timeout: float | None = None) -> list[tuple[selectors.SelectorKey, int]]:
        ready = super().select(None if timeout is None else 0)
        if timeout and not ready:
            self.now += timeout
        return ready


class VirtualLoop(asyncio.SelectorEventLoop):
    """An event loop for code that waits only for timers, not for sockets or threads."""

    def __init__(self) -> None:
        self._virtual = _Clock()
        super().__init__(self._virtual)

    def time(self) -> float:
        return self._virtual.now


def run(work: Coroutine[Any, Any, T]) -> T:
    """Run in virtual time."""
    with asyncio.Runner(loop_factory=VirtualLoop) as runner:
        return runner.run(work)
