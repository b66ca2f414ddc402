"""uvicorn's HTTP/1.1 protocol with bounds on the requests that wait for those before them on a connection.

A request that waits takes 1.1 KB, whatever its size, and uvicorn reads on after each answer: without bounds a
connection could fill the memory with them, before any key is looked at. Each also takes some 30 us to parse,
in which no other connection is served.
"""

import asyncio
from collections.abc import Sized
from typing import Any, Final

from uvicorn.protocols.http.flow_control import FlowControl
from uvicorn.protocols.http.httptools_impl import RequestResponseCycle

from shared.runtime.idle_connections import IdleBoundedProtocol

MAX_WAITING: Final = 512
"""Requests of a connection that wait for the answers to those before them. All of them came at once: while
some wait, no more is read."""

MAX_WAITING_TOGETHER: Final = 8_192
"""Requests that wait on all connections of a server: from then on only a few may wait on one, until half are
left. Less would let each further connection have what the last one that was dropped has freed."""

FEW_WAITING: Final = 16


class TooManyWaitingError(Exception):
    """More requests were sent ahead of answers than may wait."""


class WaitingCount:
    """Counts the requests that wait on all connections of a server."""

    def __init__(self) -> None:
        self._requests = 0
        self.most = MAX_WAITING
        """Requests that may wait on one of them now."""

    def add(self, count: int) -> None:
        """Count so many more, or less."""
        self._requests += count
        if self._requests >= MAX_WAITING_TOGETHER:
            self.most = FEW_WAITING
        elif self._requests <= MAX_WAITING_TOGETHER // 2:
            self.most = MAX_WAITING


class PipelineBoundedProtocol(IdleBoundedProtocol):
    """Reads no more while requests wait, and drops a connection on which too many came at once."""

    waiting: WaitingCount
    """The server's count of waiting requests."""

    _counted = 0
    """This connection's part of the server's count."""

    _running: RequestResponseCycle | None = None
    """The request that is being answered; uvicorn's `cycle` is the one that came last."""

    def connection_made(self, transport: Any) -> None:
        """See asyncio.Protocol."""
        super().connection_made(transport)
        self.flow = _Flow(transport, self.pipeline)

    def connection_lost(self, exc: Exception | None) -> None:
        """See asyncio.Protocol: requests that wait would keep each other and the connection in memory."""
        super().connection_lost(exc)
        self._end_running()
        self.pipeline.clear()
        self._count_waiting()

    def on_message_begin(self) -> None:
        """Called by the parser."""
        if len(self.pipeline) >= self.waiting.most:
            raise TooManyWaitingError  # the parser stops, and uvicorn calls send_400_response
        super().on_message_begin()

    def on_headers_complete(self) -> None:
        """Called by the parser: the request begins, or waits."""
        super().on_headers_complete()
        self._count_waiting()

    def on_response_complete(self) -> None:
        """Called by uvicorn, which has begun with the next request if one waits."""
        super().on_response_complete()
        self._count_waiting()
        if not self.transport.is_closing():
            self.flow.resume_reading()

    def drop(self) -> None:
        """Close the connection at once, whatever is still to be sent."""
        self._end_running()
        self.transport.abort()

    def _start_asgi_task(self, cycle: RequestResponseCycle, app: Any) -> None:
        self._running = cycle
        super()._start_asgi_task(cycle, app)

    def _end_running(self) -> None:
        """Send nothing more to a client that is gone: it would be logged as an error of the application."""
        if self._running is not None:
            self._running.disconnected = True
            self._running.message_event.set()

    def _count_waiting(self) -> None:
        now = len(self.pipeline)
        self.waiting.add(now - self._counted)
        self._counted = now


class _Flow(FlowControl):
    """Does not read while requests wait: the body of the one that is answered is complete by then."""

    def __init__(self, transport: asyncio.Transport, waiting: Sized) -> None:
        super().__init__(transport)
        self._waiting = waiting

    def resume_reading(self) -> None:
        """uvicorn asks for it at each answer, and when an application reads a body."""
        if not self._waiting:
            super().resume_reading()
