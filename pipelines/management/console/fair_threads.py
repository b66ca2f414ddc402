"""Work that may take seconds, apart from the event loop on which the pages of all people run."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
_THREADS: Final = 2
"""Pure Python shares one core among them and the event loop, so more would only slow the pages down."""


class FairThreads:
    """One thread for each person at most, so that a busy person leaves threads to the others."""

    def __init__(self) -> None:
        self._threads = ThreadPoolExecutor(_THREADS, "work")
        self._turns: WeakValueDictionary[str, asyncio.Lock] = WeakValueDictionary()

    async def run(self, person: str, work: Callable[[], T]) -> T:
        """Return the result of `work`, or raise its error."""
        turn = self._turns.get(person)
        if turn is None:
            self._turns[person] = turn = asyncio.Lock()
        async with turn:
            return await asyncio.get_running_loop().run_in_executor(self._threads, work)
