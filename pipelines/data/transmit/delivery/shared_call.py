"""A call that blocks, made once for all who ask for its answer at about the same time."""

import asyncio
from collections.abc import Callable
from concurrent.futures import ThreadPoolExecutor
from typing import Generic, TypeVar

T = TypeVar("T")


class SharedCall(Generic[T]):
    """Calls a function on a thread of its own, one call after the other. For one event loop.

    Who asks while a call is under way gets the answer of the next one: the first may have looked before there
    was what the caller asks about.
    """

    def __init__(self, call: Callable[[], T], thread_name: str) -> None:
        """`call` blocks."""
        self._call = call
        self._thread = ThreadPoolExecutor(1, thread_name_prefix=thread_name)
        self._turn = asyncio.Lock()
        self._next: asyncio.Task[T] | None = None

    async def __call__(self) -> T:
        """The answer of a call that begins from now on. A caller that is cancelled leaves it to the others.

        Raises:
            Exception: what the function raises.
        """
        if self._next is None:
            self._next = asyncio.create_task(self._made())
            self._next.add_done_callback(_ended)
        return await asyncio.shield(self._next)

    def close(self) -> None:
        """Wait for the call that is under way, and make no other."""
        self._thread.shutdown(cancel_futures=True)

    async def _made(self) -> T:
        async with self._turn:
            self._next = None
            return await asyncio.get_running_loop().run_in_executor(self._thread, self._call)


def _ended(task: asyncio.Task[T]) -> None:
    if not task.cancelled():
        task.exception()  # its callers may have gone
