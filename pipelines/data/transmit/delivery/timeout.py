"""Waiting for something no longer than one is willing to, by a clock that stands still while we do.

Where this process gets no turn for a while, every destination seems slow. So a wait is made of short ones,
each counted as what it should have lasted: what it lasted longer was our own delay.
"""

import asyncio
from collections.abc import Coroutine
from typing import Any, Final, TypeVar

_SLICE_SECONDS: Final = 0.05
_MOST_STRETCHED: Final = 4
"""Times the seconds asked for: past that it does not matter any more whose delay it is."""

T = TypeVar("T")


async def within(work: Coroutine[Any, Any, T], seconds: float) -> tuple[T, float]:
    """What `work` gives, and the seconds it took; it is cancelled when it takes longer, or the caller is.

    Raises:
        TimeoutError: if it took longer.
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
        raise TimeoutError
    finally:
        task.cancel()
