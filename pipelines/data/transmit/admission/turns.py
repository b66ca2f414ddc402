"""How long the requests of a micro-batch wait for their turns. For one event loop.

In the slow lane the events of all destinations wait for the end of each micro-batch. It must not last longer
because one destination gets more than it takes; but while it lasts for other reasons, that one goes on.
"""

import asyncio
from collections import defaultdict
from collections.abc import AsyncIterator, Awaitable, Iterator
from contextlib import (
    AbstractAsyncContextManager,
    AsyncExitStack,
    ExitStack,
    asynccontextmanager,
    contextmanager,
)
from dataclasses import dataclass, field
from math import inf

from pipelines.data.transmit.admission.gate import Gate, NoTurn, Refusal


@dataclass(slots=True)
class _Queue:
    """The requests to one destination that wait."""

    waiting: dict[asyncio.Timeout, None] = field(default_factory=dict)
    """Oldest first."""

    timer: asyncio.TimerHandle | None = None
    behind: bool = False
    """Whether some have been waiting for too long, without a break."""

    closed: bool = False
    """Whether requests were refused, so that the destination has had its turn in this micro-batch."""


class Turns:
    """The requests of one micro-batch that wait, by destination.

    A destination is behind when requests to it have been waiting for `seconds` without a break. It is sent
    what it takes until nothing else is under way, and then nothing more in this micro-batch. What it is sent
    while it is behind does not count as under way: it prolongs the micro-batch by `seconds` and two answers.
    """

    def __init__(self, seconds: float) -> None:
        """With infinite `seconds`, requests wait as long as their gates allow."""
        self._seconds = seconds
        self._queues: dict[Gate, _Queue] = defaultdict(_Queue)
        self._under_way = 0

    @asynccontextmanager
    async def at(
        self, gate: Gate, turn: AbstractAsyncContextManager[Refusal | None]
    ) -> AsyncIterator[Refusal | None]:
        """Wrap `turn`, a request's turn at its gate, to refuse the request if its time is over before."""
        if self._seconds == inf:
            async with turn as refusal:
                yield refusal
            return
        queue = self._queues[gate]
        if queue.closed:
            yield NoTurn()
            return
        with ExitStack() as counted:  # ends last: what gets the turn next is not refused
            async with AsyncExitStack() as held:
                refusal = await self._in_time(queue, held.enter_async_context(turn))
                if refusal is None and not queue.behind:
                    counted.enter_context(self.under_way())
                yield refusal

    @contextmanager
    def under_way(self) -> Iterator[None]:
        """Mark work that the micro-batch has to wait for in any case."""
        self._under_way += 1
        try:
            yield
        finally:
            self._under_way -= 1
            self._close()

    async def _in_time(self, queue: _Queue, turn: Awaitable[Refusal | None]) -> Refusal | None:
        limit = asyncio.timeout(None)
        try:
            async with limit:
                self._join(queue, limit)
                return await turn
        except TimeoutError:
            return NoTurn()
        finally:
            self._leave(queue, limit)

    def _join(self, queue: _Queue, limit: asyncio.Timeout) -> None:
        if not queue.waiting:
            queue.behind = False
            queue.timer = asyncio.get_running_loop().call_later(self._seconds, self._fall_behind, queue)
        queue.waiting[limit] = None

    def _leave(self, queue: _Queue, limit: asyncio.Timeout) -> None:
        queue.waiting.pop(limit, None)
        if not queue.waiting and queue.timer is not None:
            queue.timer.cancel()

    def _fall_behind(self, queue: _Queue) -> None:
        queue.behind = True
        self._close()

    def _close(self) -> None:
        """If nothing is under way any more, refuse the requests to destinations that are behind."""
        if self._under_way:
            return
        now = asyncio.get_running_loop().time()
        for queue in self._queues.values():
            if queue.behind and queue.waiting:
                queue.closed = True
                for limit in queue.waiting:
                    limit.reschedule(now)
                queue.waiting.clear()
