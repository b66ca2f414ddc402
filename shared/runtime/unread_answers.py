"""Large answers count as request bodies do until their clients have taken them."""

from collections.abc import Awaitable, Callable, Mapping, MutableMapping
from typing import Any, Final

from shared.runtime.body_budget import BodyBudget
from shared.runtime.http_protocol import ABORT

LARGE_BYTES: Final = 64 * 1024
"""The server takes a part of an answer up to this size over at once, and waits for no client."""

Send = Callable[[MutableMapping[str, Any]], Awaitable[None]]
"""ASGI's."""


def held_until_taken(send: Send, scope: Mapping[str, Any], budget: BodyBudget) -> Send:
    """ASGI's `send` of a request, which returns from a large part of an answer once little of it still waits.

    Meanwhile the part is held in the budget. When others need the memory, the connection of the one that has
    waited longest is dropped: its request may be done, so it gets no 503.
    """

    def drop() -> None:
        scope["extensions"][ABORT]()

    async def sent(message: MutableMapping[str, Any]) -> None:
        size = len(message.get("body", b""))
        if size <= LARGE_BYTES:
            await send(message)
            return
        with budget.reserved(drop, is_answer=True) as held:
            held.hold(size)
            await send({**message, "more_body": True})
            await send(_end_of(message))

    return sent


def _end_of(message: Mapping[str, Any]) -> MutableMapping[str, Any]:
    """An empty part after that of a message: the server waits for the client before each part."""
    return {"type": message["type"], "body": b"", "more_body": message.get("more_body", False)}
