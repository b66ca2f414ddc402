"""Places that tenants share, so that none of them leaves the others without, however many it wants.

The rule is that of dynamic thresholds (Choudhury and Hahne, "Dynamic queue length thresholds in a shared
memory ATM switch", 1996): a tenant takes one more place only while it holds fewer than are free. So it has
half of all at most; two that want everything have a third each in the end, and a third stays free. Many that
want everything at once may take all for a moment; what they give back is for those that hold less. For one
event loop.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager


class FairShare:
    """A number of places, and the tenants that hold them or wait."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[asyncio.Future[None]]] = {}

    @asynccontextmanager
    async def held(self, tenant: str) -> AsyncIterator[None]:
        """Hold a place until the block ends; waits for one, in the order of the tenant's calls."""
        await self.take(tenant)
        try:
            yield
        finally:
            self.give_back(tenant)

    async def take(self, tenant: str) -> None:
        """Take a place, which the caller gives back; waits for one."""
        if tenant not in self._waiting and self._may_take(tenant):
            self._count(tenant, 1)
            return
        place = asyncio.get_running_loop().create_future()
        self._waiting.setdefault(tenant, deque()).append(place)
        try:
            await place
        except asyncio.CancelledError:
            if place.cancelled():
                self._forget(tenant, place)
            else:  # it was given in the same moment
                self.give_back(tenant)
            raise

    def give_back(self, tenant: str) -> None:
        """Give a place back, to whoever may have it now."""
        self._count(tenant, -1)
        for each in list(self._waiting):
            while each in self._waiting and self._may_take(each):
                place = self._waiting[each][0]
                self._forget(each, place)
                if not place.done():  # or its caller has just been cancelled
                    self._count(each, 1)
                    place.set_result(None)

    def _may_take(self, tenant: str) -> bool:
        return self._held[tenant] < self._free

    def _count(self, tenant: str, places: int) -> None:
        self._free -= places
        self._held[tenant] += places
        if not self._held[tenant]:
            del self._held[tenant]

    def _forget(self, tenant: str, place: "asyncio.Future[None]") -> None:
        waiting = self._waiting.get(tenant, deque())
        if place in waiting:
            waiting.remove(place)
        if not waiting:
            self._waiting.pop(tenant, None)
