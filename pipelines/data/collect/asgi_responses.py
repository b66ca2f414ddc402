"""Replies through ASGI."""

import asyncio
from collections.abc import Awaitable, Callable
from typing import Any

from pipelines.data.collect.body import Receive
from pipelines.data.collect.responses import Reply

Send = Callable[[dict[str, Any]], Awaitable[None]]
"""ASGI's."""

_DRAIN_SECONDS = 2.0
_DRAIN_BYTES = 64 * 1024 * 1024


async def send_reply(send: Send, reply: Reply) -> None:
    """Send a reply; the connection goes on."""
    await send(_head(reply))
    await send({"type": "http.response.body", "body": reply.body})


async def send_and_drain(send: Send, receive: Receive, reply: Reply) -> None:
    """Send a reply to a client that is still sending, then end the connection.

    To close at once would reset the connection, and the client would lose the reply: what it goes on to send
    is thrown away for a short time first.
    """
    await send(_head(reply, (b"connection", b"close")))
    await send({"type": "http.response.body", "body": reply.body, "more_body": True})
    try:
        async with asyncio.timeout(_DRAIN_SECONDS):
            await _discard(receive)
    except TimeoutError:
        pass
    await send({"type": "http.response.body", "body": b""})


async def _discard(receive: Receive) -> None:
    room = _DRAIN_BYTES
    while room > 0:
        message = await receive()
        room -= len(message.get("body", b""))
        if not message.get("more_body", False):
            return


def _head(reply: Reply, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    headers = [
        (b"content-type", reply.content_type.encode()),
        (b"content-length", b"%d" % len(reply.body)),
        *((name.encode(), value.encode()) for name, value in reply.headers),
        *more,
    ]
    return {"type": "http.response.start", "status": reply.status, "headers": headers}
