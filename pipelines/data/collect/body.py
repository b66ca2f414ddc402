"""A request's body, read under a limit on its decompressed size and on the time it may take."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pipelines.data.collect.encodings import Inflater
from pipelines.data.collect.refusal import Refusal, RefusedError, malformed, unread

Receive = Callable[[], Awaitable[dict[str, Any]]]
"""ASGI's."""


class ClientGoneError(Exception):
    """The client went away before its last byte: there is nobody to answer."""


async def read_body(receive: Receive, inflater: Inflater, declared: str, limit: int, seconds: float) -> bytes:
    """The decoded body.

    Args:
        receive: ASGI's.
        inflater: Undoes the content encoding.
        declared: The Content-Length header, empty if there was none.
        limit: Bytes, after decompression; compressed data may not be more either.
        seconds: Until the last byte has to be in.

    Raises:
        RefusedError: 413 as soon as it is too large, 400 if badly encoded, 408 if too slow.
        ClientGoneError: the client went away.
    """
    if declared.isascii() and declared.isdigit() and int(declared[:20]) > limit:
        raise unread(_too_large(limit))
    try:
        async with asyncio.timeout(seconds):
            return await _read(receive, inflater, limit)
    except TimeoutError as error:
        refusal = Refusal(
            f"the body was not complete after {seconds:g} s", "body", "send less at once, or send it faster"
        )
        raise unread(RefusedError(408, refusal)) from error


async def _read(receive: Receive, inflater: Inflater, limit: int) -> bytes:
    parts: list[bytes] = []
    room = compressed_room = limit
    more = True
    while more:
        message = await receive()
        if message["type"] == "http.disconnect":
            raise ClientGoneError
        more = message.get("more_body", False)
        piece = message.get("body", b"")
        try:
            part = inflater.feed(piece, room)
            room, compressed_room = room - len(part), compressed_room - len(piece)
            if min(room, compressed_room) < 0:
                raise _too_large(limit)
        except RefusedError as error:
            error.body_unread = more
            raise
        parts.append(part)
    inflater.finish()
    return parts[0] if len(parts) == 1 else b"".join(parts)


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
