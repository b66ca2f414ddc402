"""Shares places between tenants, so that no tenant can starve the others. For one event loop.

It uses dynamic thresholds (Choudhury and Hahne, "Dynamic queue length thresholds in a shared memory ATM
switch", 1996): a tenant takes one more place only while it holds fewer than are free. So a tenant has at most
half of them; two that want everything end with a third each, and a third stays free. Many tenants that want
everything at once may take all for a moment; places that they give back go to tenants that hold fewer.
"""

import asyncio
from collections import Counter, deque
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from dataclasses import dataclass


class FairShare:
    """A number of places, such as connections or bytes, and the tenants that hold them or wait."""

    def __init__(self, places: int) -> None:
        self._free = places
        self._held: Counter[str] = Counter()
        self._waiting: dict[str, deque[_Wait]] = {}

    @asynccontextmanager
    async def held(self, tenant: str) -> AsyncIterator[None]:
        """Hold a place until the block ends; waits for one, in the order of the tenant's calls."""
        await self.take(tenant)
        try:
            yield
        finally:
            self.give_back(tenant)

    def at_once(self, tenant: str, places: int = 1) -> bool:
        """Whether `take` would not wait."""
        return tenant not in self._waiting and self._may_take(tenant, places)

    async def take(self, tenant: str, places: int = 1) -> None:
        """Take places together, which the caller gives back; waits until they are due to the tenant."""
        if self.at_once(tenant, places):
            self._count(tenant, places)
            return
        wait = _Wait(asyncio.get_running_loop().create_future(), places)
        self._waiting.setdefault(tenant, deque()).append(wait)
        try:
            await wait.given
        except asyncio.CancelledError:
            if wait.given.cancelled():
                self._forget(tenant, wait)
                self._share_out()  # the next one may want fewer
            else:  # they were given in the same moment
                self.give_back(tenant, places)
            raise

    def give_back(self, tenant: str, places: int = 1) -> None:
        """Give places back, to whoever may have them now."""
        self._count(tenant, -places)
        self._share_out()

    def _share_out(self) -> None:
        for each in list(self._waiting):
            while each in self._waiting and self._may_take(each, self._waiting[each][0].places):
                wait = self._waiting[each][0]
                self._forget(each, wait)
                if not wait.given.done():  # or its caller has just been cancelled
                    self._count(each, wait.places)
                    wait.given.set_result(None)

    def _may_take(self, tenant: str, places: int) -> bool:
        return self._held[tenant] + places <= self._free

    def _count(self, tenant: str, places: int) -> None:
        self._free -= places
        self._held[tenant] += places
        if not self._held[tenant]:
            del self._held[tenant]

    def _forget(self, tenant: str, wait: "_Wait") -> None:
        waiting = self._waiting.get(tenant, deque())
        if wait in waiting:
            waiting.remove(wait)
        if not waiting:
            self._waiting.pop(tenant, None)


@dataclass(frozen=True, slots=True, eq=False)
class _Wait:
    given: "asyncio.Future[None]"
    places: int
