"""One signed-in page: its session, its calls to the API, and what happens when the API refuses."""

from collections.abc import Awaitable, Callable, Coroutine
from contextlib import closing
from dataclasses import dataclass, replace
from http import HTTPStatus
from typing import Any, Final, TypeVar
from urllib.parse import quote

from fastapi import Request, Response
from msgspec import structs
from nicegui import ui
from starlette.responses import RedirectResponse

from pipelines.management.console.account import Account
from pipelines.management.console.api_client import ApiClient, ProblemError
from pipelines.management.console.fair_threads import FairThreads
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.session import COOKIE, Session, Sessions
from pipelines.management.console.signing_in.sign_in import HOME, sign_in_path
from shared.oidc.errors import ProviderAwayError

KINDS: Final = {
    "sources": "source",
    "destinations": "destination",
    "pipes": "pipe",
    "contacts": "contact",
}
"""Kinds of documents as addresses name them, and one of each."""

T = TypeVar("T")


@dataclass(frozen=True, kw_only=True)
class Visit:
    """A page of a tenant in a signed-in browser."""

    session: Session
    """The session; it has its role in the tenant once the visit is `informed`."""

    sessions: Sessions
    account: Account
    threads: FairThreads
    tenant: str

    path: str = HOME
    """The path of the page itself."""

    def address(self, *steps: str) -> str:
        """The path of a page of this tenant."""
        return "/".join((HOME, *(quote(step, safe="") for step in (self.tenant, *steps))))

    async def change(self, act: Coroutine[Any, Any, None]) -> bool:
        """Do it; False if it was refused, which the page then says."""
        try:
            await self.allowed(act)
        except ProblemError as error:
            ui.notify(refusal(error), type="negative", timeout=8_000)
            return False
        except UnreachableError as error:
            ui.notify(str(error), type="negative", timeout=8_000)
            return False
        return True

    async def apart(self, work: Callable[[], T]) -> T:
        """The result of `work`, which may take seconds; other pages go on meanwhile."""
        return await self.threads.run(self.session.identity.id, work)

    async def allowed(self, call: Coroutine[Any, Any, T]) -> T:
        """The result of a call that a person wants; if the session has ended, the page goes to sign in.

        Raises:
            ProblemError: what the API refused.
            UnreachableError: the API does not answer.
        """
        try:
            return await self.asked(call)
        except ProblemError as error:
            if error.status == HTTPStatus.UNAUTHORIZED:
                self.sign_in()
            raise

    def sign_in(self) -> None:
        """End the session, and lead to the sign-in form, and back here after it."""
        self.sessions.end(self.session.id)
        ui.navigate.to(sign_in_path("ended", self.path))

    async def asked(self, call: Coroutine[Any, Any, T]) -> T:
        """The result of a call that the page makes by itself: it stays, though the session may have ended.

        A call that is not made is closed.

        Raises:
            ProblemError: what the API refused; with status 401 if the session has ended.
            UnreachableError: the API does not answer.
        """
        try:
            with closing(call):
                if await self.sessions.renewed(self.session.id) is None:
                    raise ProblemError(HTTPStatus.UNAUTHORIZED, "your session has ended")
                return await call
        except ProviderAwayError as error:
            raise UnreachableError(f"the sign-in service does not answer: {error}; try again") from error


Build = Callable[[Visit], Awaitable[Callable[[], object]]]
"""Reads what a page shows; gives what draws it."""

Shown = Callable[[Request, str, str, Build], Awaitable[Response | None]]
"""Shows a page of a tenant below a link of the head, or sends the browser to sign in."""


@dataclass(frozen=True, kw_only=True)
class Desk:
    """The API client, sessions, threads and settings that all pages share."""

    client: ApiClient
    sessions: Sessions
    threads: FairThreads
    issuer: str | None
    """The issuer that signs people in; None if only tokens do."""

    public: str | None
    """Where browsers find the console, if that is behind a proxy."""

    async def visit(self, request: Request, tenant: str) -> Visit | None:
        """The visit of a request; None without an open session.

        Raises:
            ProviderAwayError: if the session's token has ended, and the issuer does not answer.
        """
        session = await self.sessions.renewed(request.cookies.get(COOKIE))
        if session is None:
            return None
        account = Account(self.client, lambda: self.sessions.token(session.id))
        return Visit(
            session=session,
            sessions=self.sessions,
            account=account,
            threads=self.threads,
            tenant=tenant,
            path=request.url.path,
        )

    async def informed(self, visit: Visit) -> Visit:
        """The visit with the role that the API says it has here now: roles change.

        Raises:
            ProblemError: if the token is not valid any more.
            UnreachableError: the API does not answer.
        """
        identity = await visit.account.identity()
        self.sessions.update(visit.session.id, identity)
        session = structs.replace(visit.session, identity=identity.within(visit.tenant))
        return replace(visit, session=session)

    def origin(self, request: Request) -> str:
        """The address of the console as this browser knows it, without a slash at the end."""
        return self.public or str(request.base_url).rstrip("/")

    @staticmethod
    def to_sign_in(request: Request) -> Response:
        """Redirect to the sign-in form, which leads back here."""
        reason = "ended" if COOKIE in request.cookies else ""
        return RedirectResponse(sign_in_path(reason, request.url.path), HTTPStatus.SEE_OTHER)


def refusal(error: ProblemError) -> str:
    """A refusal as a person reads it."""
    if error.status == HTTPStatus.PRECONDITION_FAILED:
        return "Somebody changed it meanwhile. Load the page again to see the newest version."
    if error.status == HTTPStatus.FORBIDDEN:
        return "Your role does not allow this."
    return str(error)
