"""Threads for calls of librdkafka that block. Clusters that hang occupy only some of them, for each tenant."""

import asyncio
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")

THREADS: Final = 32
"""Threads that query clusters; one that is needed no more waits without cost."""

OF_TENANT: Final = 4
"""Of these, how many one tenant may occupy."""

_CLOSING: Final = 8
"""Threads that destroy clients, apart from the others: none of both waits for the other."""


class TenantThreads:
    """For one event loop."""

    def __init__(self, threads: int = THREADS, of_tenant: int = OF_TENANT) -> None:
        self._queries = ThreadPoolExecutor(threads, "kafka-queries")
        self._closing = ThreadPoolExecutor(_CLOSING, "kafka-closing")
        self._of_tenant = of_tenant
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def turns(self, tenant: str) -> asyncio.Semaphore:
        """As many turns as a tenant may have threads."""
        return self._turns.setdefault(tenant, asyncio.Semaphore(self._of_tenant))

    async def start(self, turns: Sequence[asyncio.Semaphore], work: Callable[[], T]) -> asyncio.Future[T]:
        """Start work once it has all turns, which it keeps until it ends: also when the result is cancelled.

        Cancelling the result before a thread is free means that the work is not done.
        """
        with ExitStack() as held:
            for turn in turns:
                await turn.acquire()
                held.callback(turn.release)
            job = self._queries.submit(work)
            job.add_done_callback(partial(_end, asyncio.get_running_loop(), held.pop_all()))
        return asyncio.wrap_future(job)

    async def close(self, work: Callable[[], None]) -> None:
        """Do work that closes something, whoever queries."""
        await asyncio.get_running_loop().run_in_executor(self._closing, work)

    def shutdown(self) -> None:
        """End, without waiting for calls under way."""
        for each in (self._queries, self._closing):
            each.shutdown(wait=False, cancel_futures=True)


def _end(loop: asyncio.AbstractEventLoop, held: ExitStack, _job: "Future[T]") -> None:
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(held.close)
