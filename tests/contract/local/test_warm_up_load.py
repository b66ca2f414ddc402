"""The warm-up's load keeps within the permitted number of events in flight."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager

import aiohttp
import msgspec
from aiohttp import web

from scripts.local.warmup.requests import SyntheticLoad

MOST = 100
TICK = 0.05
ONE_TICK = 140
"""More events than are due in one tick."""


class Collect:
    """Answers requests, and remembers their events."""

    def __init__(self, status: int = 202) -> None:
        self.status = status
        self.ids: list[str] = []
        self.held = 0
        """Requests that have arrived and are not answered yet."""

        self.answers = asyncio.Event()
        self.answers.set()

    async def take(self, request: web.Request) -> web.Response:
        body = msgspec.json.decode(await request.read())
        self.ids += [each["id"] for each in (body if isinstance(body, list) else [body])]
        self.held += 1
        await self.answers.wait()
        self.held -= 1
        return web.Response(status=self.status)


@asynccontextmanager
async def loaded(collect: Collect) -> AsyncIterator[SyntheticLoad]:
    """A load against it; afterwards no request is in flight."""
    application = web.Application()
    application.router.add_post("/", collect.take)
    runner = web.AppRunner(application)
    await runner.setup()
    site = web.TCPSite(runner, "127.0.0.1", 0)
    await site.start()
    url = f"http://127.0.0.1:{runner.addresses[0][1]}/"
    try:
        async with aiohttp.ClientSession() as session:
            load = SyntheticLoad(session, url, MOST)
            yield load
            collect.answers.set()
            while load.requests[0] != load.requests[1]:  # noqa: ASYNC110 - no event to wait for
                await asyncio.sleep(0.01)
    finally:
        await runner.cleanup()


async def ticks(
    load: SyntheticLoad, collect: Collect, first: float, seconds: float, arrived: set[str]
) -> None:
    """Advance the load's time as fast as collect gets, and perhaps answers, its requests."""

    def under_way() -> bool:
        taken, all_of_them = load.requests
        return all_of_them - taken > (0 if collect.answers.is_set() else collect.held)

    for n in range(int(seconds / TICK)):
        load.catch_up(first + n * TICK, arrived)
        await asyncio.sleep(0)  # its requests begin
        while under_way():  # noqa: ASYNC110 - no event to wait for
            await asyncio.sleep(0.001)


def run(test: Callable[[], Awaitable[None]]) -> None:
    asyncio.run(asyncio.wait_for(test(), 300))


def test_events_that_do_not_arrive_hold_the_load_back_until_they_do() -> None:
    async def test() -> None:
        collect = Collect()
        async with loaded(collect) as load:
            await ticks(load, collect, 0, 5, set())
            assert MOST <= len(collect.ids) <= MOST + ONE_TICK
            waiting = len(collect.ids)
            await ticks(load, collect, 5, 5, set(collect.ids))
            assert waiting + MOST <= len(collect.ids) <= waiting + MOST + ONE_TICK

    run(test)


def test_what_is_not_answered_yet_is_on_its_way_too() -> None:
    async def test() -> None:
        collect = Collect()
        collect.answers.clear()
        async with loaded(collect) as load:
            await ticks(load, collect, 0, 5, set())
            assert MOST <= len(collect.ids) <= MOST + ONE_TICK

    run(test)


def test_events_of_an_earlier_load_and_such_as_were_refused_make_no_room_and_take_none() -> None:
    async def test() -> None:
        earlier = {f"1-{number}" for number in range(10_000)}
        collect = Collect()
        async with loaded(collect) as load:
            await ticks(load, collect, 0, 5, earlier)
            assert len(collect.ids) <= MOST + ONE_TICK
        refusing = Collect(503)
        async with loaded(refusing) as load:
            await ticks(load, refusing, 0, 1, set())
            assert len(refusing.ids) > 10 * MOST

    run(test)


def test_events_that_never_arrive_do_not_end_the_load() -> None:
    async def test() -> None:
        collect = Collect()
        async with loaded(collect) as load:
            await ticks(load, collect, 0, 5, set())
            lost = len(collect.ids)
            await ticks(load, collect, 40, 1, set())
            assert len(collect.ids) >= lost + MOST

    run(test)
