"""Threads for blocking calls of librdkafka; a tenant with clusters that hang can occupy only a few."""

import asyncio
import threading
from collections.abc import Callable, Sequence
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import ExitStack, suppress
from functools import partial
from typing import Final, TypeVar
from weakref import WeakValueDictionary

T = TypeVar("T")
Work = Callable[[threading.Event], T]
"""Blocks; should end early once the event is set."""

THREADS: Final = 32
"""Threads that query clusters; one that is needed no more waits without cost."""

OF_TENANT: Final = 4
"""Most of these threads that one tenant may occupy."""

_CLOSING: Final = 8
"""Threads that destroy clients, separate so that queries and closing never wait for each other."""


class TenantThreads:
    """The threads of one event loop, shared by its tenants."""

    def __init__(self, threads: int = THREADS, of_tenant: int = OF_TENANT) -> None:
        self._queries = ThreadPoolExecutor(threads, "kafka-queries")
        self._closing = ThreadPoolExecutor(_CLOSING, "kafka-closing")
        self._of_tenant = of_tenant
        self._turns: WeakValueDictionary[str, asyncio.Semaphore] = WeakValueDictionary()

    def turns(self, tenant: str) -> asyncio.Semaphore:
        """A semaphore with one turn for each thread that a tenant may occupy."""
        return self._turns.setdefault(tenant, asyncio.Semaphore(self._of_tenant))

    async def start(
        self, turns: Sequence[asyncio.Semaphore], prepare: Callable[[], Work[T]]
    ) -> asyncio.Future[T]:
        """Prepare work and start it, once it has all turns: it keeps them until it ends.

        Cancelling the result stops the work, also before a thread is free for it.
        """
        stopped = threading.Event()
        with ExitStack() as held:
            for turn in turns:
                await turn.acquire()
                held.callback(turn.release)
            job = self._queries.submit(prepare(), stopped)
            job.add_done_callback(partial(_end, asyncio.get_running_loop(), held.pop_all()))
        result = asyncio.wrap_future(job)
        result.add_done_callback(lambda _: stopped.set())
        return result

    async def close(self, work: Callable[[], None]) -> None:
        """Close something on a separate thread, regardless of running queries."""
        await asyncio.get_running_loop().run_in_executor(self._closing, work)

    def shutdown(self) -> None:
        """End, without waiting for calls under way."""
        for each in (self._queries, self._closing):
            each.shutdown(wait=False, cancel_futures=True)


def _end(loop: asyncio.AbstractEventLoop, held: ExitStack, _job: "Future[T]") -> None:
    with suppress(RuntimeError):  # the loop was closed meanwhile
        loop.call_soon_threadsafe(held.close)
