"""HTTP server with the canary's destinations, its pause, health and metrics."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import asynccontextmanager
from typing import Final

from aiohttp import web
from prometheus_client import CollectorRegistry

from pipelines.control.canary.documents import PIPES, CanaryEvent, CanaryPipe
from pipelines.control.canary.events import arrived
from shared.cloudevents.json_validation import PARSE_ERRORS
from shared.contracts.canary_pause import MOST_PAUSE_SECONDS, PAUSE_PATH
from shared.runtime.health import Report, health_answer
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_MAX_BODY_BYTES: Final = 2 * 1024 * 1024
_BODY_SECONDS: Final = 30.0
"""Time limit for a request's body to arrive; nothing else here waits."""

_CLOSE_SECONDS: Final = 0.5

OnEvent = Callable[[CanaryPipe, CanaryEvent], None]
OnPause = Callable[[int], None]
_Handler = Callable[[web.Request], Awaitable[web.StreamResponse]]


@asynccontextmanager
async def receiver(  # noqa: PLR0913  # what it tells, and whom it asks
    host: str,
    port: int,
    *,
    on_event: OnEvent,
    on_pause: OnPause,
    report: Report,
    registry: CollectorRegistry,
) -> AsyncIterator[int]:
    """Serve until the block ends; yields the port. `on_pause` gets seconds.

    Raises:
        OSError: if the port is taken.
    """
    application = web.Application(client_max_size=_MAX_BODY_BYTES, middlewares=[_timely])
    for pipe in PIPES:
        application.router.add_post(f"/{pipe.kind}", _destination(pipe, on_event))
    application.router.add_put(PAUSE_PATH, _pause(on_pause))
    application.router.add_get("/{path:.*}", _health(report, registry))
    # A body that was too slow is not waited for once more: aiohttp would discard the rest for ten seconds.
    runner = web.AppRunner(
        application, access_log=None, shutdown_timeout=_CLOSE_SECONDS, lingering_time=_CLOSE_SECONDS
    )
    await runner.setup()
    try:
        await web.TCPSite(runner, host, port).start()
        yield runner.addresses[0][1]
    finally:
        await runner.cleanup()


@web.middleware
async def _timely(request: web.Request, handler: _Handler) -> web.StreamResponse:
    try:
        async with asyncio.timeout(_BODY_SECONDS):
            return await handler(request)
    except TimeoutError:
        return web.Response(status=408, headers={"Connection": "close"})


def _destination(pipe: CanaryPipe, on_event: OnEvent) -> _Handler:
    async def take(request: web.Request) -> web.Response:
        try:
            events = arrived(pipe.format, await request.read())
        except PARSE_ERRORS as error:
            _log.warning(
                "request refused: not in the format of this canary pipe",
                extra={"pipe": pipe.name, "error": str(error)},
            )
            return web.Response(status=400)
        for event in events:
            on_event(pipe, event)
        return web.Response(status=204)

    return take


def _pause(on_pause: OnPause) -> _Handler:
    async def take(request: web.Request) -> web.Response:
        text = (await request.read()).decode(errors="replace").strip()  # in whatever charset it is said to be
        seconds = _pause_seconds(text)
        if seconds is None:
            said = f"the body has to be the seconds of a pause, 0 to {MOST_PAUSE_SECONDS}, not {text[:20]!r}"
            return web.Response(status=400, text=said)
        on_pause(seconds)
        return web.Response(status=204)

    return take


def _pause_seconds(text: str) -> int | None:
    """None if it is none. Python refuses to read a number of very many digits."""
    if not text.isdecimal() or len(text) > len(str(MOST_PAUSE_SECONDS)):
        return None
    seconds = int(text)
    return seconds if seconds <= MOST_PAUSE_SECONDS else None


def _health(report: Report, registry: CollectorRegistry) -> _Handler:
    async def say(request: web.Request) -> web.Response:
        status, content_type, body = health_answer(request.path, report, registry)
        return web.Response(status=status, body=body, headers={"Content-Type": content_type})

    return say
