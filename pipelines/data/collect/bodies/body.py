"""Reads request bodies within limits on size (per body and in total, decompressed) and time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.data.collect.bodies.decompression import Decompressor
from pipelines.data.collect.errors import RefusedError, unavailable, unread
from shared.cloudevents.refusal import Refusal
from shared.runtime.body_budget import BodyBudget, Reservation

Receive = Callable[[], Awaitable[dict[str, Any]]]
"""ASGI's."""

_RETRY_SECONDS: Final = 1
_SMALL_BYTES: Final = 256 * 1024
"""A body up to this size is decompressed without waiting for `BodyReader.turn`."""


class ClientGoneError(Exception):
    """The client disconnected before its last byte: no response can reach it."""


class _Body:
    """The part of a body that has arrived, decompressed."""

    def __init__(self, limit: int, decoder: Decompressor, reservation: Reservation, budget: int) -> None:
        self._limit, self._decoder, self._reservation = limit, decoder, reservation
        self._budget = budget
        self._parts: list[bytes] = []
        self.size = 0

    def append(self, part: bytes) -> None:
        """Hold one part more, and what the decompressor holds now."""
        self.size += len(part)
        if self.size > self._limit:
            raise _too_large(self._limit)
        own = min(self._decoder.held_bytes, self._budget - self.size)  # a body alone is never too much
        self._reservation.grow(self.size + own - self._reservation.bytes)
        if part:
            self._parts.append(part)

    def whole(self) -> bytes:
        """The body, of which nothing else is held from now on."""
        self._decoder.finish()
        self._reservation.shrink(self.size)
        return self._parts[0] if len(self._parts) == 1 else b"".join(self._parts)


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyReader:
    """Reads the bodies of all requests of a process, on one event loop."""

    limit: int
    """Bytes of one body, both as sent and after decompression."""

    seconds: float
    """How long a body may take to arrive."""

    budget: BodyBudget
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a large body is decompressed, so that many at once do not delay small ones."""

    @asynccontextmanager
    async def body(self, receive: Receive, decoder: Decompressor, declared: str) -> AsyncIterator[bytes]:
        """The decompressed body, which counts against the budget until the block ends.

        Args:
            receive: ASGI's.
            decoder: undoes the content encoding.
            declared: the Content-Length header, empty if there was none.

        Raises:
            RefusedError: 413 as soon as it is too large, 400 if badly encoded, 408 if too slow, 503 if the
                budget is used up or a newer request takes its place.
            ClientGoneError: the client disconnected.
        """
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self.limit:
            raise unread(_too_large(self.limit))
        with ExitStack() as held:
            try:
                async with asyncio.timeout(self.seconds) as waiting:
                    reservation = held.enter_context(self.budget.reserved(lambda: _end(waiting)))
                    coming = _Body(self.limit, decoder, reservation, self.budget.limit)
                    body = await self._read(receive, decoder, coming)
                    reservation.complete()
            except TimeoutError as error:
                raise _gave_way() if reservation.evicted else self._too_slow() from error
            if reservation.evicted:  # while its last piece was read
                raise _gave_way()
            yield body

    async def _read(self, receive: Receive, decoder: Decompressor, body: _Body) -> bytes:
        compressed_room = self.limit
        more = True
        while more:
            message = await receive()
            if message["type"] == "http.disconnect":
                raise ClientGoneError
            more = message.get("more_body", False)
            piece = message.get("body", b"")
            compressed_room -= len(piece)
            try:
                if compressed_room < 0:
                    raise _too_large(self.limit)
                await self._decompress(decoder, piece, body)
            except RefusedError as error:
                error.body_unread = more
                raise
        return body.whole()

    async def _decompress(self, decoder: Decompressor, piece: bytes, body: _Body) -> None:
        """Decompress a piece into `body`; beyond the size of a small body it waits for its turn."""
        slices = decoder.feed(piece)
        for part in slices:
            body.append(part)
            if body.size > _SMALL_BYTES and len(part) > len(piece):
                break
        else:
            return
        async with self.turn:
            for part in slices:
                body.append(part)
                await asyncio.sleep(0)

    def _too_slow(self) -> RefusedError:
        refusal = Refusal(
            f"the body was not complete after {self.seconds:g} s",
            "body",
            "send less at once, or send it faster",
        )
        return unread(RefusedError(408, refusal))


def _end(waiting: asyncio.Timeout) -> None:
    if not waiting.expired():
        waiting.reschedule(0)


def _too_large(limit: int) -> RefusedError:
    refusal = Refusal(
        f"the body is larger than {limit} bytes after decompression", "body", "send fewer events in a request"
    )
    return RefusedError(413, refusal)


def _gave_way() -> RefusedError:
    detail = (
        "there are too many requests, or too large ones, and the body of this one was incomplete for longest"
    )
    return unread(unavailable(detail, _RETRY_SECONDS))


def no_memory_left() -> RefusedError:
    """The refusal of a body for which there is no memory."""
    return unread(unavailable("there is no memory left for request bodies", _RETRY_SECONDS))
