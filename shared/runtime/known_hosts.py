"""Refuses requests with a Host header that names another site.

A page on the internet can make its own name resolve to 127.0.0.1 after it was loaded (DNS rebinding), and
then read what answers there without a sign-in. The browser still sends the page's name as Host.
"""

from collections.abc import Collection
from http import HTTPStatus
from ipaddress import ip_address
from typing import Final
from urllib.parse import urlsplit

from starlette.responses import PlainTextResponse
from starlette.types import ASGIApp, Receive, Scope, Send

_OWN_SUFFIXES: Final = (".localhost", ".svc", ".svc.cluster.local")
_POLICY_VIOLATION: Final = 1008


def is_known(host: str, names: Collection[str]) -> bool:
    """Whether a Host header names an address, a bare name, one of the cluster's, or one of `names`.

    No outsider can own any of these. A header that cannot be read names none of them.
    """
    try:
        name = (urlsplit(f"//{host}").hostname or "").rstrip(".")
    except ValueError:
        return False
    return _is_address(name) or "." not in name or name.endswith(_OWN_SUFFIXES) or name in names


class KnownHosts:
    """ASGI middleware."""

    def __init__(self, app: ASGIApp, names: Collection[str] = ()) -> None:
        """`names` are further names that the service has."""
        self._app, self._names = app, names

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Answer 421, or close the websocket, if another site's name was asked."""
        if scope["type"] not in ("http", "websocket") or is_known(_host(scope), self._names):
            await self._app(scope, receive, send)
        elif scope["type"] == "http":
            said = "this name is not the service's; ask by its address, or by the name that its operator set"
            refused = PlainTextResponse(said, HTTPStatus.MISDIRECTED_REQUEST)
            await refused(scope, receive, send)
        else:
            await send({"type": "websocket.close", "code": _POLICY_VIOLATION})


def _host(scope: Scope) -> str:
    found = (value for name, value in scope["headers"] if name.lower() == b"host")
    return next(found, b"").decode("latin-1").lower()


def _is_address(name: str) -> bool:
    try:
        ip_address(name)
    except ValueError:
        return False
    return True
