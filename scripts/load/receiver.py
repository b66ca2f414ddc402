"""A destination that records and counts arrivals, and injects faults on request."""

import asyncio
import random
import threading
from collections.abc import Awaitable, Callable, Iterator, Mapping
from contextlib import contextmanager
from pathlib import Path
from types import TracebackType
from typing import Self, TextIO

import uvloop
from aiohttp import web
from msgspec import Struct

from scripts.load.fault_injection import Action, FaultInjection, Rule
from scripts.load.lags import LagCounts
from scripts.load.received_events import UnreadableError, heads, lags
from scripts.load.records import received_lines
from shared.runtime.clock import Clock, wall_clock

HOST = "127.0.0.1"
_MAX_BODY_BYTES = 64 * 1024 * 1024
_FLUSH_SECONDS = 0.5

OnBody = Callable[[str, bytes, Mapping[str, str]], None]
"""Called with path, body and headers of each request that was accepted."""


class PathCounts:
    """Counts of arrivals at one path."""

    def __init__(self) -> None:
        self.seen: set[str] = set()
        self.arrivals = 0
        self.overall = LagCounts()
        self.recent = LagCounts()
        """Lags since the last `take`."""

    @property
    def distinct(self) -> int:
        """Different events that arrived."""
        return len(self.seen)

    @property
    def duplicated(self) -> int:
        """Arrivals beyond the first of each event."""
        return self.arrivals - len(self.seen)

    def add(self, ids: list[str], known_lags: list[int]) -> None:
        """Count the events of one request."""
        self.seen.update(ids)
        self.arrivals += len(ids)
        self.overall.add(known_lags)
        self.recent.add(known_lags)


class RequestCounts(Struct):
    """Requests by outcome."""

    accepted: int = 0
    misbehaved: int = 0
    unreadable: int = 0


class Receiver:
    """An HTTP server on the loopback address; an asynchronous context manager.

    A request that gets an error, a reset or no response does not count as arrived. One with a delayed
    response counts at its arrival, whether or not the sender waits.
    """

    def __init__(  # noqa: PLR0913 each has a default and stands alone
        self,
        port: int = 0,
        *,
        host: str = HOST,
        out: Path | None = None,
        misbehaviour: FaultInjection | None = None,
        seed: int = 0,
        on_body: OnBody | None = None,
        clock: Clock = wall_clock,
    ) -> None:
        """Prepare; `start` listens.

        Args:
            port: 0 picks a free one, which `port` and `url` then have.
            host: the address to listen on.
            out: file to which a `records.Received` line is appended for each arrival.
            misbehaviour: faults to inject; may be replaced while the receiver runs.
            seed: of the random choice of requests that get a fault.
            on_body: see `OnBody`.
            clock: epoch milliseconds.
        """
        self.misbehaviour = misbehaviour or FaultInjection()
        self.counts_by_path: dict[str, PathCounts] = {}
        self.uncounted = ""
        """Prefix of ids that are accepted but not counted, for probes; empty counts all."""

        self.requests = RequestCounts()
        self.port = port
        self._host = host
        self._out_path = out
        self._out: TextIO | None = None
        self._random = random.Random(seed)
        self._on_body = on_body
        self._clock = clock
        self._runner: web.AppRunner | None = None
        self._flusher: asyncio.Task[None] | None = None

    @property
    def url(self) -> str:
        """Base URL; append a path; each has counts of its own."""
        return f"http://{self._host}:{self.port}"

    def counts(self, path: str = "/") -> PathCounts:
        """Counts of a path."""
        return self.counts_by_path.setdefault(path, PathCounts())

    @property
    def arrivals(self) -> int:
        """Arrivals at all paths."""
        return sum(counts.arrivals for counts in self.counts_by_path.values())

    async def start(self) -> Self:
        """Start to listen.

        Raises:
            OSError: if the port is taken or the file cannot be written.
        """
        if self._out_path:
            # These writes block the event loop, for a few hundred kilobytes per second at most.
            self._out = self._out_path.open("a", encoding="utf-8", newline="\n")
            self._flusher = asyncio.create_task(self._flush_often(self._out))
        app = web.Application(client_max_size=_MAX_BODY_BYTES)
        app.router.add_route("*", "/{path:.*}", self._handle)
        self._runner = web.AppRunner(app, access_log=None, shutdown_timeout=1.0)
        await self._runner.setup()
        site = web.TCPSite(self._runner, self._host, self.port, backlog=1024)
        await site.start()
        self.port = self._runner.addresses[0][1]
        return self

    async def stop(self) -> None:
        """Stop listening, close all connections, flush the file."""
        if self._runner:
            await self._runner.cleanup()
        if self._flusher:
            self._flusher.cancel()
        if self._out:
            self._out.close()

    async def __aenter__(self) -> Self:
        return await self.start()

    async def __aexit__(
        self, kind: type[BaseException] | None, error: BaseException | None, trace: TracebackType | None
    ) -> None:
        await self.stop()

    async def _handle(self, request: web.Request) -> web.StreamResponse:
        body = await request.read()
        rule = self.misbehaviour.choose(self._random.random())
        if rule.action in (Action.ACCEPT, Action.DELAY):
            return await self._accept(request, body, rule)
        self.requests.misbehaved += 1
        return await _REFUSALS[rule.action](request, rule)

    async def _accept(self, request: web.Request, body: bytes, rule: Rule) -> web.StreamResponse:
        try:
            self._record(request.path, body, request.headers)
        except UnreadableError as error:
            self.requests.unreadable += 1
            return web.Response(status=400, text=str(error))
        if rule.action is Action.DELAY:
            self.requests.misbehaved += 1
            await asyncio.sleep(rule.seconds or 0)
        return web.Response(status=202)

    def _record(self, path: str, body: bytes, headers: Mapping[str, str]) -> None:
        received_ms = self._clock()
        events = heads(body, headers)
        if self.uncounted:
            events = [event for event in events if not event.id.startswith(self.uncounted)]
        ids, lag_list = [event.id for event in events], lags(events, received_ms)
        self.requests.accepted += 1
        self.counts(path).add(ids, [lag for lag in lag_list if lag is not None])
        if self._out:
            self._out.write(received_lines(ids, received_ms, lag_list))
        if self._on_body:
            self._on_body(path, body, headers)

    async def _flush_often(self, out: TextIO) -> None:
        while True:
            await asyncio.sleep(_FLUSH_SECONDS)
            out.flush()


async def _answer_status(_: web.Request, rule: Rule) -> web.StreamResponse:
    headers = {} if rule.seconds is None else {"Retry-After": f"{rule.seconds:.0f}"}
    return web.Response(status=rule.status, headers=headers)


async def _hang(_: web.Request, __: Rule) -> web.StreamResponse:
    await asyncio.Event().wait()  # until the sender gives up or the receiver stops
    raise AssertionError


async def _reset(request: web.Request, _: Rule) -> web.StreamResponse:
    if request.transport:
        request.transport.abort()
    return web.Response()


_REFUSALS: dict[Action, Callable[[web.Request, Rule], Awaitable[web.StreamResponse]]] = {
    Action.STATUS: _answer_status,
    Action.HANG: _hang,
    Action.RESET: _reset,
}


@contextmanager
def running(receiver: Receiver) -> Iterator[Receiver]:
    """Run the receiver in a thread of its own, for callers without an event loop."""
    loop = uvloop.new_event_loop()
    thread = threading.Thread(target=loop.run_forever, name="receiver", daemon=True)
    thread.start()
    try:
        asyncio.run_coroutine_threadsafe(receiver.start(), loop).result()
        try:
            yield receiver
        finally:
            asyncio.run_coroutine_threadsafe(receiver.stop(), loop).result()
    finally:
        loop.call_soon_threadsafe(loop.stop)
        thread.join()
        loop.close()
