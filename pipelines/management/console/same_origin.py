"""Refuses requests and websockets that another site's page sends: browsers name the page's origin.

NiceGUI takes clicks over a websocket and accepts any origin, and a browser sends cookies with it. This is the
guard against cross-site request forgery.
"""

from collections.abc import Iterable
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_POLICY_VIOLATION: Final = 1008


def foreign(headers: Iterable[tuple[bytes, bytes]], public: str | None) -> bool:
    """Whether an Origin header is there and names neither the host asked nor the public address."""
    found = {name.lower(): value.decode("latin-1") for name, value in headers}
    origin = found.get(b"origin")
    if origin is None:
        return False
    own = {found.get(b"host", "").lower()}
    if public is not None:
        own.add(urlsplit(public).netloc.lower())
    parts = urlsplit(origin.lower())
    return parts.scheme not in ("http", "https") or parts.netloc not in own


class SameOrigin:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, public: str | None) -> None:
        self._app, self._public = app, public

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 403, or close the websocket, if another site's page asks."""
        if scope["type"] not in ("http", "websocket") or not foreign(scope["headers"], self._public):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            refused = PlainTextResponse("another site's page may not ask this", status_code=403)
            await refused(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})
