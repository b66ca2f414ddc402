"""Bounds the reads of documents at once: each takes a thread, and gives a page of up to some MiB."""

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from typing import Final
from weakref import WeakValueDictionary

from fastapi import Request

from pipelines.management.api.problems import ProblemError, server_busy, tenant_busy

AT_ONCE: Final = 16
"""Reads that a process handles at the same time; the other threads are for guards, and for what writes."""

OF_TENANT: Final = 4
_AGAIN_SECONDS: Final = 1
_WAIT_SECONDS: Final = 1.0
"""How long a read waits for its turn before it is refused: a console's pages read in bursts."""


class ReadLimits:
    """Limits the concurrent reads of one process, on one event loop: a request that waits takes no thread."""

    def __init__(self, wait_seconds: float = _WAIT_SECONDS) -> None:
        """`wait_seconds` is how long a read may wait for each of its two permits."""
        self._wait_seconds = wait_seconds
        self._all = asyncio.Semaphore(AT_ONCE)
        self._of_tenants: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    async def permit(self, request: Request) -> AsyncIterator[None]:
        """A dependency of a route, after its guard, that raises a ProblemError with 429."""
        own = self._of_tenants.setdefault(request.path_params["tenant"], asyncio.Semaphore(OF_TENANT))
        async with (
            _turn(own, self._wait_seconds, tenant_busy(_AGAIN_SECONDS)),
            _turn(self._all, self._wait_seconds, server_busy("reads", _AGAIN_SECONDS)),
        ):
            yield


@asynccontextmanager
async def _turn(permits: asyncio.Semaphore, seconds: float, refusal: ProblemError) -> AsyncIterator[None]:
    try:
        async with asyncio.timeout(seconds):
            await permits.acquire()
    except TimeoutError:
        raise refusal from None
    try:
        yield
    finally:
        permits.release()
