"""Responses through ASGI."""

import asyncio
from typing import Any

from pipelines.data.collect.bodies.body import Receive
from pipelines.data.collect.responses import Response
from shared.runtime.unread_answers import Send

_DRAIN_SECONDS = 2.0
_DRAIN_BYTES = 64 * 1024 * 1024


async def send_response(send: Send, response: Response) -> None:
    """Send a response; the connection stays open."""
    await send(_head(response))
    await send({"type": "http.response.body", "body": response.body})


async def send_and_drain(send: Send, receive: Receive, response: Response) -> None:
    """Send a response to a client that is still sending its body, then close the connection.

    Closing at once would reset the connection and the client might lose the response, so what it still sends
    is read and discarded for a short time first.
    """
    await send(_head(response, (b"connection", b"close")))
    await send({"type": "http.response.body", "body": response.body, "more_body": True})
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


def _head(response: Response, *more: tuple[bytes, bytes]) -> dict[str, Any]:
    headers = [
        (b"content-type", response.content_type.encode()),
        (b"content-length", b"%d" % len(response.body)),
        *((name.encode(), value.encode()) for name, value in response.headers),
        *more,
    ]
    return {"type": "http.response.start", "status": response.status, "headers": headers}
