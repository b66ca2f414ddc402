"""Waiting for something no longer than one is willing to, fair to it when we are late ourselves."""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

_LATE_SECONDS: Final = 0.1
"""A wait that ends so much later than it should says that this process stood still, not who was slow."""

_MOST_EXTENSIONS: Final = 3

T = TypeVar("T")


async def within(work: Coroutine[Any, Any, T], seconds: float) -> T:
    """What `work` gives. It is cancelled when it takes longer, or when the caller is.

    Raises:
        TimeoutError: if it took longer.
        Exception: what `work` raises.
    """
    loop = asyncio.get_running_loop()
    task = loop.create_task(work)
    try:
        for _ in range(1 + _MOST_EXTENSIONS):
            due = loop.time() + seconds
            await asyncio.wait({task}, timeout=seconds)
            if task.done():
                return task.result()
            if loop.time() - due < _LATE_SECONDS:
                break
        raise TimeoutError
    finally:
        task.cancel()
