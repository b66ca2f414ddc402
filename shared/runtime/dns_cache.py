"""Remembers the addresses of names for a while, and merges a tenant's look-ups of a name that are under way.

aiohttp has such a cache, but merges the look-ups of all tenants: a request would wait in the share of another
tenant, whose own names are not answered. What was found is for all tenants.
"""

import asyncio
import socket
from collections import deque
from collections.abc import Callable
from functools import partial
from typing import Final

from aiohttp.abc import AbstractResolver, ResolveResult

SECONDS: Final = 30.0
"""How long addresses are kept."""

NAMES: Final = 1_000
"""Most names whose addresses are kept, as in aiohttp."""

ADDRESSES: Final = 64
"""Most addresses of a name that is kept: a customer's name server may answer thousands, each half a KiB."""

Name = tuple[str, int, socket.AddressFamily]
"""Host, port and family."""


class DnsCache:
    """The addresses of the names that were looked up last."""

    def __init__(self) -> None:
        self._kept: dict[Name, tuple[float, deque[ResolveResult]]] = {}
        """Addresses with the time of their look-up, oldest first."""

    def get(self, name: Name, now: float) -> list[ResolveResult] | None:
        """The addresses, each time with another one first, so that connections are spread over them."""
        if name not in self._kept:
            return None
        looked_up, addresses = self._kept[name]
        if now - looked_up >= SECONDS:
            return None
        found = list(addresses)
        addresses.rotate(-1)
        return found

    def put(self, name: Name, found: list[ResolveResult], now: float) -> None:
        """Keep what a look-up at `now` has found, in seconds of any clock that never goes back."""
        self._kept.pop(name, None)
        if not 0 < len(found) <= ADDRESSES:
            return
        self._kept[name] = now, deque(found)
        if len(self._kept) > NAMES:
            del self._kept[next(iter(self._kept))]


class CachingResolver(AbstractResolver):
    """Asks another resolver, in a task of the tenant that needs the name. Failures are not kept."""

    def __init__(
        self, inner: AbstractResolver, sender: Callable[[], str], clock: Callable[[], float]
    ) -> None:
        """`sender`: the tenant that the current task sends for; `clock`: seconds, never going back."""
        self._inner = inner
        self._sender = sender
        self._clock = clock
        self._cache = DnsCache()
        self._looking_up: dict[tuple[str, Name], asyncio.Task[list[ResolveResult]]] = {}

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_UNSPEC
    ) -> list[ResolveResult]:
        """The addresses of a name. A caller that is cancelled leaves the look-up to the others.

        Raises:
            OSError: as the other resolver does.
        """
        name = host, port, family
        found = self._cache.get(name, self._clock())
        if found is not None:
            return found
        wanted = self._sender(), name
        task = self._looking_up.get(wanted)
        if task is None:
            task = self._looking_up[wanted] = asyncio.create_task(self._look_up(name))
            task.add_done_callback(partial(self._ended, wanted))
        return await asyncio.shield(task)

    async def _look_up(self, name: Name) -> list[ResolveResult]:
        found = await self._inner.resolve(*name)
        self._cache.put(name, found, self._clock())
        return found

    def _ended(self, wanted: tuple[str, Name], task: asyncio.Task[list[ResolveResult]]) -> None:
        del self._looking_up[wanted]
        if not task.cancelled():
            task.exception()  # its callers may have gone

    async def close(self) -> None:
        """Cancel what waits, and close the other resolver."""
        for task in list(self._looking_up.values()):
            task.cancel()
        await self._inner.close()
