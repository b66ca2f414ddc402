"""Addresses are cached for a while; waiting look-ups of a name are merged within a tenant only."""

import asyncio
import socket
from collections.abc import Awaitable, Callable
from contextvars import ContextVar

import pytest
from aiohttp.abc import AbstractResolver, ResolveResult

from shared.runtime.dns_cache import ADDRESSES, NAMES, SECONDS, CachingResolver, DnsCache, Name

TENANT = ContextVar("tenant", default="")
NAME = ("hooks.example", 443, socket.AF_INET)


def addresses(*hosts: str) -> list[ResolveResult]:
    return [
        {"hostname": "h", "host": each, "port": 443, "family": socket.AF_INET, "proto": 0, "flags": 0}
        for each in hosts
    ]


def hosts(found: list[ResolveResult] | None) -> list[str]:
    return [each["host"] for each in found or []]


def test_addresses_are_kept_for_half_a_minute_and_take_turns() -> None:
    cache = DnsCache()
    cache.put(NAME, addresses("192.0.2.1", "192.0.2.2"), 1_000.0)
    assert hosts(cache.get(NAME, 1_000.0)) == ["192.0.2.1", "192.0.2.2"]
    assert hosts(cache.get(NAME, 1_000.0 + SECONDS - 0.1)) == ["192.0.2.2", "192.0.2.1"]
    assert cache.get(NAME, 1_000.0 + SECONDS) is None
    assert cache.get(("hooks.example", 80, socket.AF_INET), 1_000.0) is None


def test_the_name_that_was_looked_up_longest_ago_gives_way_to_one_too_many() -> None:
    def name(number: int) -> Name:
        return f"n{number}.example", 443, socket.AF_INET

    cache = DnsCache()
    for number in range(NAMES):
        cache.put(name(number), addresses("192.0.2.1"), 1_000.0)
    cache.put(name(0), addresses("192.0.2.2"), 1_001.0)
    cache.put(name(NAMES), addresses("192.0.2.3"), 1_002.0)
    gone = [number for number in range(NAMES + 1) if cache.get(name(number), 1_002.0) is None]
    assert gone == [1]
    assert hosts(cache.get(name(0), 1_002.0)) == ["192.0.2.2"]


@pytest.mark.parametrize("many", [0, ADDRESSES + 1])
def test_no_addresses_and_very_many_are_not_kept_in_place_of_those_from_before(many: int) -> None:
    cache = DnsCache()
    cache.put(NAME, addresses("192.0.2.1"), 1_000.0)
    cache.put(NAME, addresses("192.0.2.2") * many, 1_001.0)
    assert cache.get(NAME, 1_001.0) is None


class Names(AbstractResolver):
    """A name server that answers when permitted, and records for whom it was asked."""

    def __init__(self) -> None:
        self.asked: list[str] = []
        self.answering = asyncio.Event()
        self.failing = False

    async def resolve(
        self, host: str, port: int = 0, family: socket.AddressFamily = socket.AF_INET
    ) -> list[ResolveResult]:
        self.asked.append(TENANT.get())
        await self.answering.wait()
        if self.failing:
            raise OSError("no such name")
        return addresses("192.0.2.1")

    async def close(self) -> None:
        pass


Asks = Callable[[str], "asyncio.Task[list[ResolveResult]]"]


def with_names(check: Callable[[Names, Asks], Awaitable[None]]) -> None:
    """Run a check with a name server and a function that resolves NAME for a tenant, all at one moment."""

    async def run() -> None:
        names = Names()
        resolver = CachingResolver(names, TENANT.get, lambda: 1_000.0)

        async def ask(tenant: str) -> list[ResolveResult]:
            TENANT.set(tenant)
            return await resolver.resolve(*NAME)

        await check(names, lambda tenant: asyncio.create_task(ask(tenant)))
        await resolver.close()

    asyncio.run(run())


def test_look_ups_that_wait_are_merged_within_a_tenant_and_the_result_is_for_all() -> None:
    async def check(names: Names, ask: Asks) -> None:
        tasks = [ask(tenant) for tenant in ("a", "a", "b", "a")]
        await asyncio.sleep(0)
        await asyncio.sleep(0)
        assert names.asked == ["a", "b"]
        names.answering.set()
        assert [hosts(found) for found in await asyncio.gather(*tasks, ask("c"))] == [["192.0.2.1"]] * 5
        assert hosts(await ask("d")) == ["192.0.2.1"]
        assert "d" not in names.asked

    with_names(check)


def test_a_caller_that_is_cancelled_leaves_the_look_up_to_the_others() -> None:
    async def check(names: Names, ask: Asks) -> None:
        first, second = ask("a"), ask("a")
        await asyncio.sleep(0)
        first.cancel()
        await asyncio.wait([first])
        names.answering.set()
        assert hosts(await second) == ["192.0.2.1"]
        assert (first.cancelled(), names.asked) == (True, ["a"])

    with_names(check)


def test_a_failure_is_not_kept() -> None:
    async def check(names: Names, ask: Asks) -> None:
        names.failing = True
        names.answering.set()
        with pytest.raises(OSError, match="no such name"):
            await ask("a")
        names.failing = False
        assert hosts(await ask("a")) == ["192.0.2.1"]

    with_names(check)
