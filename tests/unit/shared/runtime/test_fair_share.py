"""Tenants that want everything leave a share to the others."""

import asyncio
from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from shared.runtime.fair_share import FairShare

PLACES = 12


class Tenants:
    """Tenants with places, and the tasks in which tenants wait."""

    def __init__(self) -> None:
        self.shares = FairShare(PLACES)
        self.held: Counter[str] = Counter()
        self._waiting: dict[str, list[asyncio.Task[None]]] = {}

    async def want(self, tenant: str, places: int) -> None:
        tasks = [asyncio.create_task(self._take(tenant)) for _ in range(places)]
        self._waiting.setdefault(tenant, []).extend(tasks)
        await settled()

    async def leave(self, tenant: str, places: int) -> None:
        for _ in range(min(places, self.held[tenant])):
            self.held[tenant] -= 1
            self.shares.give_back(tenant)
        await settled()

    async def give_up(self, tenant: str) -> None:
        for task in self._waiting.pop(tenant, []):
            task.cancel()
        await settled()

    async def _take(self, tenant: str) -> None:
        await self.shares.take(tenant)
        self.held[tenant] += 1


async def settled() -> None:
    for _ in range(5):
        await asyncio.sleep(0)


def test_each_further_tenant_finds_as_many_as_those_before_it_hold_at_last() -> None:
    async def run() -> None:
        tenants = Tenants()
        await tenants.want("a", 100)
        assert tenants.held == {"a": 6}
        await tenants.want("b", 100)
        assert tenants.held == {"a": 6, "b": 3}
        await tenants.leave("a", 3)  # more of them are free than they hold
        assert tenants.held == {"a": 4, "b": 4}

    asyncio.run(run())


def test_when_none_is_free_the_next_is_for_the_tenant_that_holds_none() -> None:
    async def run() -> None:
        tenants = Tenants()
        for tenant in "abcd":
            await tenants.want(tenant, 100)
        assert tenants.held == {"a": 6, "b": 3, "c": 2, "d": 1}
        await tenants.want("new", 1)
        assert tenants.held["new"] == 0
        await tenants.leave("a", 1)
        assert tenants.held == {"a": 5, "b": 3, "c": 2, "d": 1, "new": 1}

    asyncio.run(run())


def test_a_place_that_was_given_at_the_moment_of_a_cancellation_goes_to_the_next() -> None:
    async def run() -> None:
        shares = FairShare(1)
        await shares.take("a")
        second, third = (asyncio.create_task(shares.take("a")) for _ in range(2))
        await settled()
        shares.give_back("a")
        second.cancel()
        await asyncio.wait_for(third, 60)
        with pytest.raises(asyncio.CancelledError):
            await second

    asyncio.run(run())


def test_places_are_taken_together_and_given_back_in_parts() -> None:
    async def run() -> None:
        shares = FairShare(PLACES)
        await shares.take("a", 6)
        assert not shares.at_once("a")
        assert shares.at_once("b", 6)
        assert not shares.at_once("b", 7)
        second = asyncio.create_task(shares.take("a", 3))
        await settled()
        shares.give_back("a", 1)
        await settled()
        assert not second.done(), "it would hold more than are free"
        shares.give_back("a", 1)
        await asyncio.wait_for(second, 60)
        shares.give_back("a", 7)
        assert shares.at_once("b", PLACES), "all are free again"

    asyncio.run(run())


def test_who_gives_up_waiting_for_many_places_holds_up_no_other() -> None:
    async def run() -> None:
        shares = FairShare(PLACES)
        await shares.take("a", 4)
        many, one = (asyncio.create_task(shares.take("a", places)) for places in (6, 1))
        await settled()
        assert not one.done(), "in the order of the tenant's calls"
        many.cancel()
        await asyncio.wait_for(one, 60)

    asyncio.run(run())


steps = st.lists(
    st.tuples(st.sampled_from(["want", "leave", "give_up"]), st.sampled_from("abc"), st.integers(1, 9)),
    max_size=30,
)


@given(steps)
def test_no_place_is_lost_or_given_twice(history: list[tuple[str, str, int]]) -> None:
    async def run() -> None:
        tenants = Tenants()
        for step, tenant, places in history:
            match step:
                case "want":
                    await tenants.want(tenant, places)
                case "leave":
                    await tenants.leave(tenant, places)
                case _:
                    await tenants.give_up(tenant)
            assert sum(tenants.held.values()) <= PLACES
        for tenant in "abc":
            await tenants.give_up(tenant)
            await tenants.leave(tenant, PLACES)
        await tenants.want("d", PLACES)
        assert tenants.held["d"] == PLACES // 2, "all are free again"

    asyncio.run(run())
