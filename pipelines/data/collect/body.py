"""Request bodies, read under limits on their decompressed size, each and together, and on their time."""

import asyncio
from collections.abc import AsyncIterator, Awaitable, Callable
from contextlib import ExitStack, asynccontextmanager
from dataclasses import dataclass, field
from typing import Any, Final

from pipelines.data.collect.body_budget import BodyBudget, Reservation, out_of_memory
from pipelines.data.collect.decompression import Inflater
from pipelines.data.collect.errors import Refusal, RefusedError, malformed, unread

Receive = Callable[[], Awaitable[dict[str, Any]]]
"""ASGI's."""

_SMALL_BYTES: Final = 256 * 1024
"""Of a body that is decompressed without waiting for a turn."""


class ClientGoneError(Exception):
    """The client went away before its last byte: no reply can reach it."""


@dataclass(frozen=True, kw_only=True, slots=True)
class BodyReader:
    """Reads the bodies of all requests of a process. For one event loop."""

    limit: int
    """Bytes of one body, after decompression; compressed data may not be more either."""

    seconds: float
    """Until the last byte has to be in."""

    budget: BodyBudget
    turn: asyncio.Lock = field(default_factory=asyncio.Lock)
    """Held while a body that is not small is decompressed, so that many at once delay no small one."""

    @asynccontextmanager
    async def body(self, receive: Receive, inflater: Inflater, declared: str) -> AsyncIterator[bytes]:
        """The decoded body, which counts against the budget until the block ends.

        Args:
            receive: ASGI's.
            inflater: Undoes the content encoding.
            declared: The Content-Length header, empty if there was none.

        Raises:
            RefusedError: 413 as soon as it is too large, 400 if badly encoded, 408 if too slow, 503 if there
                is no memory for it.
            ClientGoneError: the client went away.
        """
        if declared.isascii() and declared.isdigit() and int(declared[:20]) > self.limit:
            raise unread(_too_large(self.limit))
        with ExitStack() as held:
            try:
                async with asyncio.timeout(self.seconds) as waiting:
                    reservation = held.enter_context(self.budget.reserved(lambda: _end(waiting)))
                    body = await self._read(receive, inflater, reservation)
                    reservation.complete()
            except TimeoutError as error:
                raise out_of_memory() if reservation.evicted else self._too_slow() from error
            yield body

    async def _read(self, receive: Receive, inflater: Inflater, reservation: Reservation) -> bytes:
        parts: list[bytes] = []
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
                await self._inflate(inflater, piece, parts, reservation)
            except RefusedError as error:
                error.body_unread = more
                raise
        inflater.finish()
        return parts[0] if len(parts) == 1 else b"".join(parts)

    async def _inflate(
        self, inflater: Inflater, piece: bytes, parts: list[bytes], reservation: Reservation
    ) -> None:
        """Add what a piece decodes to; what is more than a small body waits for its turn."""
        slices = inflater.feed(piece)
        for part in slices:
            self._take(part, parts, reservation)
            if reservation.bytes > _SMALL_BYTES and len(part) > len(piece):
                break
        else:
            return
        async with self.turn:
            for part in slices:
                self._take(part, parts, reservation)
                await asyncio.sleep(0)

    def _take(self, part: bytes, parts: list[bytes], reservation: Reservation) -> None:
        if reservation.bytes + len(part) > self.limit:
            raise _too_large(self.limit)
        reservation.grow(len(part))
        parts.append(part)

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


def require_events(count: int, limit: int) -> None:
    """Refuse a request without events (400) or with more than `limit` (413)."""
    if count == 0:
        raise malformed("the body holds no event", "send at least one event")
    if count > limit:
        refusal = Refusal(
            f"{count} events in one request, the limit is {limit}", "body", "send fewer events in a request"
        )
        raise RefusedError(413, refusal)
