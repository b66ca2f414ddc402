"""ASGI middleware that bounds the time and the memory that request bodies take, whatever the routes do, and
the memory of answers that are not read.

How large one body may be is up to its route. collect reads bodies itself: it also bounds them decompressed.
"""

import asyncio
from collections.abc import Callable
from contextlib import suppress
from http import HTTPStatus
from typing import Final

from starlette.types import ASGIApp, Message, Receive, Scope, Send

from shared.runtime.body_budget import BodyBudget, Reservation
from shared.runtime.unread_answers import held_until_taken

_BUFFERED_BYTES: Final = 64 * 1024
"""About what uvicorn takes in of a body before it is read: it counts from the beginning of a request."""

_DISCARDED_BYTES: Final = 1024 * 1024
"""Bytes discarded of a body that its route does not read; for a larger one the connection is closed."""

_DIGITS: Final = 20
"""Digits of a Content-Length that are read: Python refuses very long numbers."""

_RETRY_AFTER: Final = {"Retry-After": "1"}


class BodyRefusedError(Exception):
    """A body comes too slowly, or there is no memory for it."""

    def __init__(self, status: HTTPStatus, detail: str, headers: dict[str, str] | None = None) -> None:
        """`detail` is for the client, with the fix."""
        super().__init__(detail)
        self.status, self.detail = status, detail
        self.headers = {"Connection": "close"} | (headers or {})


Refuse = Callable[[BodyRefusedError], ASGIApp]
"""Makes the answer, in the form of the server's other errors."""


def no_memory_left() -> BodyRefusedError:
    """The refusal of a body for which there is no memory."""
    said = "there is no memory left for request bodies; send it again after Retry-After"
    return BodyRefusedError(HTTPStatus.SERVICE_UNAVAILABLE, said, _RETRY_AFTER)


class BoundedBodies:
    """ASGI middleware: 408 for a body that is too slow, 503 if all together take too much memory.

    Of bodies that are not complete, the oldest gives way: slow clients do not keep others out. So does the
    oldest of large answers that are not read.
    """

    def __init__(self, app: ASGIApp, *, seconds: float, together: int, refuse: Refuse) -> None:
        """Bound the bodies of an application, on one event loop.

        Args:
            app: the application.
            seconds: in which a body must arrive.
            together: bytes that all bodies, and large answers that wait for their clients, may take at once.
            refuse: makes the answers.
        """
        self._app, self._seconds, self._refuse = app, seconds, refuse
        self._budget = BodyBudget(together, no_memory_left)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        if scope["type"] != "http":
            await self._app(scope, receive, send)
            return
        send = held_until_taken(send, scope, self._budget)
        expected = _expected(scope)
        if not expected:
            await self._app(scope, receive, send)
            return
        until = asyncio.get_running_loop().time() + self._seconds
        body = _Body(receive, send, until, announced=_is_announced(scope))
        with self._budget.reserved(body.give_up) as body.reservation:
            try:
                body.hold(expected)
                await body.run(self._app, scope)
            except Exception:
                if body.refusal is None or body.answered:
                    raise
            if body.refusal is not None and not body.answered:
                await self._refuse(body.refusal)(scope, receive, send)


class _Body:
    """One request's body on its way to the application."""

    reservation: Reservation

    def __init__(self, receive: Receive, send: Send, until: float, *, announced: bool) -> None:
        """`until`, of the loop's clock, it must have arrived; `announced` is not sent before it is read."""
        self._receive, self._send, self._until, self._announced = receive, send, until, announced
        self._more, self._read = True, 0
        self._ending: asyncio.Timeout | None = None
        self.answered = False
        self.refusal: BodyRefusedError | None = None

    async def run(self, app: ASGIApp, scope: Scope) -> None:
        """Run the application on it."""
        try:
            async with asyncio.timeout(None) as self._ending:
                await app(scope, self.receive, self.send)
        finally:
            self._ending = None

    def give_up(self) -> None:
        """Others need the memory: end the request, or what is left of its body if it has its answer."""
        if not self.answered:
            self.refusal = no_memory_left()
        if self._ending is not None and not self._ending.expired():
            self._ending.reschedule(0)

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
            async with asyncio.timeout_at(self._until):
                message = await self._next()
        except TimeoutError:
            self.refusal = _too_slow()
            raise self.refusal from None
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
            self.reservation.complete()
            self.reservation.release()  # an answer has a reservation of its own if it is large
        await self._send(message)

    async def _discarded(self) -> bool:
        """Whether the client has sent all: otherwise it could keep the connection busy after its answer."""
        if self._announced and not self._read:
            return False
        most, whole = self._read + _DISCARDED_BYTES, self._ending
        try:
            with suppress(TimeoutError):
                async with asyncio.timeout_at(self._until) as self._ending:
                    while self._more and self._read <= most:
                        await self._next()
        finally:
            self._ending = whole  # one that is over cannot be ended again
        return not self._more

    async def _next(self) -> Message:
        message = await self._receive()
        self._read += len(message.get("body", b""))
        self._more = bool(message.get("more_body", False))
        if message["type"] == "http.request" and not self._more:
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
    digits = headers.get(b"content-length", b"0").strip().lstrip(b"0")
    if not digits:
        return 0
    return min(int(digits[:_DIGITS]), _BUFFERED_BYTES) if digits.isdigit() else _BUFFERED_BYTES


def _is_announced(scope: Scope) -> bool:
    """Whether the client waits until its body is asked for (RFC 9110, 10.1.1)."""
    return (b"expect", b"100-continue") in [(name.lower(), value.lower()) for name, value in scope["headers"]]
