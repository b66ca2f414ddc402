"""ASGI middleware that bounds the time and the memory that request bodies take, whatever the routes do.

How large one body may be is up to its route. collect reads bodies itself: it also bounds them decompressed.
"""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Final

from starlette.responses import Response
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.runtime.body_budget import BodyBudget, Reservation

_BUFFERED_BYTES: Final = 64 * 1024
"""What uvicorn takes in of a body before anybody reads it: it counts from the beginning of a request."""

_DISCARDED_BYTES: Final = 1024 * 1024
"""Of a body that its route does not want; of a larger one the connection is closed instead."""

_RETRY_AFTER: Final = {"Retry-After": "1"}


class BodyRefusedError(Exception):
    """A body comes too slowly, or there is no memory for it."""

    def __init__(self, status: HTTPStatus, detail: str, headers: dict[str, str] | None = None) -> None:
        """`detail` is for the client, with the fix."""
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = {"Connection": "close"} | (headers or {})


Refuse = Callable[[BodyRefusedError], Response]
"""Makes the answer, in the form of the server's other errors."""


def no_memory_left() -> BodyRefusedError:
    """The refusal of a body for which there is no memory."""
    said = "there is no memory left for request bodies; send it again after Retry-After"
    return BodyRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, said, _RETRY_AFTER)


class BoundedBodies:
    """ASGI middleware: 408 for a body that is too slow, 503 if all together take too much memory.

    Of bodies that are not complete, the oldest gives way: slow clients do not keep others out.
    """

    def __init__(self, app: ASGIApp, *, seconds: float, together: int, refuse: Refuse) -> None:
        """Bound the bodies of an application, on one event loop.

        Args:
            app: the application.
            seconds: in which a body must arrive.
            together: bytes that all bodies may take at once.
            refuse: makes the answers.
        """
        self._app, self._seconds, self._refuse = app, seconds, refuse
        self._budget = BodyBudget(together, no_memory_left)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        expected = _expected(scope) if scope["type"] == "http" else 0
        if not expected:
            await self._app(scope, receive, send)
            return
        body = _Body(receive, send, asyncio.get_running_loop().time() + self._seconds)
        with self._budget.reserved(body.give_up) as body.reservation:
            try:
                body.hold(expected)
                await self._app(scope, body.receive, body.send)
            except Exception:
                if body.refusal is None or body.answered:
                    raise
            if body.refusal is not None and not body.answered:
                await self._refuse(body.refusal)(scope, receive, send)


class _Body:
    """One request's body on its way to the application."""

    reservation: Reservation

    def __init__(self, receive: Receive, send: Send, until: float) -> None:
        """`until`, of the loop's clock, it must have arrived."""
        self._receive, self._send, self._until = receive, send, until
        self._more, self._read = True, 0
        self._waiting: asyncio.Timeout | None = None
        self.answered = False
        self.refusal: BodyRefusedError | None = None

    def give_up(self) -> None:
        """Others need the memory: stop waiting for the client."""
        if self._waiting is not None and not self._waiting.expired():
            self._waiting.reschedule(0)

    def hold(self, total: int) -> None:
        """Count the body as so large, at least."""
        try:
            self.reservation.grow(max(0, total - self.reservation.bytes))
        except BodyRefusedError as error:
            self.refusal = error
            raise

    async def receive(self) -> Message:
        """ASGI's, for the application."""
        if not self._more:
            return await self._receive()
        try:
            message = await self._next()
        except BodyRefusedError as error:
            self.refusal = error
            raise
        self.hold(self._read)
        return message

    async def send(self, message: Message) -> None:
        """ASGI's, for the application; what it makes of a refusal is not sent."""
        if self.refusal is not None and not self.answered:
            return
        if message["type"] == "http.response.start":
            self.answered = True
            if not await self._discarded():
                message["headers"] = [*message.get("headers", ()), (b"connection", b"close")]
        await self._send(message)

    async def _discarded(self) -> bool:
        """Whether the client has sent all: otherwise it could keep the connection busy after its answer."""
        most = self._read + _DISCARDED_BYTES
        try:
            while self._more and self._read <= most:
                await self._next()
        except BodyRefusedError:
            return False
        return not self._more

    async def _next(self) -> Message:
        if self.reservation.evicted:
            raise no_memory_left()
        try:
            async with asyncio.timeout_at(self._until) as self._waiting:
                message = await self._receive()
        except TimeoutError:
            raise no_memory_left() if self.reservation.evicted else _too_slow() from None
        finally:
            self._waiting = None
        self._read += len(message.get("body", b""))
        self._more = bool(message.get("more_body", False))
        if not self._more:
            self.reservation.complete()
        return message


def _too_slow() -> BodyRefusedError:
    said = "the body did not arrive in time; send it faster, or send less at once"
    return BodyRefusedError(HTTPStatus.REQUEST_TIMEOUT, said)


def _expected(scope: Scope) -> int:
    """Bytes that a body takes at first; 0 if the request has none."""
    headers = {name.lower(): value for name, value in scope["headers"]}
    if b"transfer-encoding" in headers:
        return _BUFFERED_BYTES
    declared = headers.get(b"content-length", b"0")
    return min(int(declared[:20]) if declared.isdigit() else 0, _BUFFERED_BYTES)
