"""Decides whether a page of NiceGUI may be loaded, before NiceGUI builds anything.

NiceGUI keeps an object with tasks for each loaded page, for a minute if no browser connects to it, even if
the answer is a redirect. So a page needs a session, and a session may have only a few pages that wait.
"""

from collections.abc import Callable, Sequence
from http import HTTPStatus
from typing import Final

from nicegui import Client, ui
from starlette.background import BackgroundTask
from starlette.requests import Request
from starlette.responses import PlainTextResponse, Response
from starlette.types import ASGIApp, Receive, Scope, Send

from pipelines.management.console.session import COOKIE, Sessions
from pipelines.management.console.signing_in.sign_in import HOME, SIDES, redirect, sign_in_path

METER: Final = "/"
MOST_WAITING: Final = 200
"""Pages of all that no browser has connected to yet; some hundred kilobytes each."""

MOST_WAITING_EACH: Final = 20
"""Such pages of one session."""

_RETRY_SECONDS: Final = "5"

Waiting = Callable[[], Sequence[str | None]]
"""The pages that no browser has connected to yet: the session of each."""


class PageGuard:
    """ASGI middleware."""

    def __init__(
        self, app: ASGIApp, sessions: Sessions | None, waiting: Waiting, *, open_meter: bool
    ) -> None:
        """Guard the pages.

        Args:
            app: the application.
            sessions: who is signed in; None without pages of documents.
            waiting: the pages that wait for their browsers.
            open_meter: whether the meter needs no session.
        """
        self._app, self._sessions, self._waiting, self._open_meter = app, sessions, waiting, open_meter
        self._loading: list[str | None] = []

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """Send to sign in, answer 503 if too many pages wait, or pass on."""
        if scope["type"] != "http" or not self._is_page(scope["path"]):
            await self._app(scope, receive, send)
            return
        request = Request(scope)
        refused = self._refusal(request)
        if refused is not None:
            await refused(scope, receive, send)
            return
        session = request.cookies.get(COOKIE)
        self._loading.append(session)  # until it is among those that wait
        try:
            await self._app(scope, receive, send)
        finally:
            self._loading.remove(session)

    def _refusal(self, request: Request) -> Response | None:
        path, session = request.url.path, request.cookies.get(COOKIE)
        is_open = path == METER and self._open_meter
        if not is_open and (self._sessions is None or self._sessions.find(session) is None):
            reason = "ended" if session is not None else ""
            return redirect(HOME if path == METER else sign_in_path(reason, path))
        known = None if is_open else session
        waiting = [*self._waiting(), *self._loading]
        own = waiting.count(known) if known is not None else 0
        if len(waiting) < MOST_WAITING and own < MOST_WAITING_EACH:
            return None
        text = "too many pages are being loaded; try again in a few seconds"
        return PlainTextResponse(
            text, HTTPStatus.SERVICE_UNAVAILABLE, headers={"Retry-After": _RETRY_SECONDS}
        )

    def _is_page(self, path: str) -> bool:
        if self._sessions is None:
            return path == METER
        return path in (METER, HOME, SIDES) or path.startswith(HOME + "/")


def waiting_pages() -> list[str | None]:
    """The sessions of NiceGUI's pages that no browser has connected to."""
    pages = [each for each in Client.instances.values() if not each.has_socket_connection]
    return [each.request.cookies.get(COOKIE) for each in pages]


def instead(answer: Response) -> Response:
    """An answer instead of the page that NiceGUI has begun, which goes with it."""
    page = ui.context.client

    async def delete() -> None:
        page.delete()

    answer.background = BackgroundTask(delete)
    return answer
