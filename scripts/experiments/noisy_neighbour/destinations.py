"""Destinations of the isolation run: a good one for each path `/good-N`, and four bad ones."""

import asyncio
import threading
from collections.abc import Awaitable, Callable, Iterator
from contextlib import contextmanager
from typing import Final

import uvloop
from aiohttp import web

from scripts.local.addresses import HOST

LATE_SECONDS: Final = 3.0


async def _hang(_: web.Request) -> web.StreamResponse:
    await asyncio.Event().wait()  # until the sender gives up or the run ends
    raise AssertionError


async def _late(_: web.Request) -> web.StreamResponse:
    await asyncio.sleep(LATE_SECONDS)
    return web.Response(status=202)


async def _reset(request: web.Request) -> web.StreamResponse:
    if request.transport:
        request.transport.abort()
    return web.Response()


async def _unavailable(_: web.Request) -> web.StreamResponse:
    return web.Response(status=503)


async def _good(_: web.Request) -> web.StreamResponse:
    return web.Response(status=202)


BAD: Final[dict[str, Callable[[web.Request], Awaitable[web.StreamResponse]]]] = {
    "hangs": _hang,
    "late": _late,
    "resets": _reset,
    "unavailable": _unavailable,
}
"""Name (also the path) of each bad destination, and its handler."""


class Destinations:
    """One server for all destinations."""

    def __init__(self) -> None:
        self.requests = dict.fromkeys(BAD, 0)
        """Requests to each bad destination so far."""

        self.port = 0

    @property
    def url(self) -> str:
        """Base URL; a destination's name follows."""
        return f"http://{HOST}:{self.port}"

    async def answer(self, request: web.Request) -> web.StreamResponse:
        """Respond as the destination of the path does."""
        await request.read()
        name = request.path.removeprefix("/")
        if name in BAD:
            self.requests[name] += 1
        return await BAD.get(name, _good)(request)


@contextmanager
def running() -> Iterator[Destinations]:
    """The server, running in a thread of its own."""
    found, loop = Destinations(), uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="destinations", daemon=True)
    thread.start()
    runner = asyncio.run_coroutine_threadsafe(_start(found), loop).result()
    try:
        yield found
    finally:
        asyncio.run_coroutine_threadsafe(_stop(runner), loop).result()
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()


async def _start(found: Destinations) -> web.AppRunner:
    application = web.Application(client_max_size=64 * 1024 * 1024)
    application.router.add_route("*", "/{name}", found.answer)
    runner = web.AppRunner(application, access_log=None, shutdown_timeout=0.5)
    await runner.setup()
    site = web.TCPSite(runner, HOST, 0)
    await site.start()
    found.port = runner.addresses[0][1]
    return runner


async def _stop(runner: web.AppRunner) -> None:
    await runner.cleanup()
    waiting = asyncio.all_tasks() - {asyncio.current_task()}
    for task in waiting:
        task.cancel()
    await asyncio.gather(*waiting, return_exceptions=True)
