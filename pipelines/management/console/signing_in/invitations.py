"""Accepting an invitation: a plain form, so that its secret travels in one POST, never over a websocket."""

from http import HTTPStatus
from typing import Final
from urllib.parse import quote

from fastapi import FastAPI, Request, Response

from pipelines.management.console.api_client import ApiClient, ProblemError
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.plain_page import plain_page
from pipelines.management.console.session import COOKIE, Identity, Session, Sessions, joined
from pipelines.management.console.signing_in.sign_in import (
    BUSY,
    HOME,
    INVITATION,
    issuer_link,
    keep_session,
    posted,
    reason_of,
    redirect,
    sendable,
    sign_in_path,
    sign_out_form,
)
from shared.contracts.api_answers.access import MembershipView, Redeemed
from shared.oidc.errors import ProviderAwayError

_REASONS: Final = {
    "refused": "This invitation is unknown, used, withdrawn or expired. Ask for another.",
    "full": "The tenant has as many members as it can have. Ask an owner to remove one.",
    "not-a-person": "You are signed in with a token, and an invitation is for a person. Sign out first.",
    "busy": BUSY,
    "away": "The management API does not answer. Try again in a moment.",
}
_BY_STATUS: Final[dict[int, str]] = {
    HTTPStatus.CONFLICT: "full",
    HTTPStatus.FORBIDDEN: "not-a-person",
    HTTPStatus.NOT_FOUND: "refused",
}


def invitation_link(public: str, invitation: str) -> str:
    """The link for the invited person: browsers keep what follows `#` to themselves."""
    return f"{public}{INVITATION}#{invitation}"


def invitation_form(reason: str, issuer: str | None, session: Session | None) -> Markup:
    """The page: sign in first if an issuer does that, then accept."""
    said = _REASONS.get(reason)
    title = (tag("h2", "You are invited"), tag("p", said, class_="said", role="alert") if said else None)
    person = session is not None and session.signed_in is not None
    if issuer is not None and not person:
        text = "Sign in first: the invitation is then accepted in your name."
        return tag("div", *title, tag("p", text), issuer_link(issuer, INVITATION), class_="card sign-in")
    who = f"You are signed in as {session.identity.label}." if session is not None and person else (
        "You get a personal token to sign in with, shown once."
    )  # fmt: skip
    field = tag(
        "input", id="invitation", name="invitation", type="password", required="", autocomplete="off",
        spellcheck="false", maxlength=512, data_invitation="",
    )  # fmt: skip
    return tag(
        "form",
        *title,
        tag("p", who),
        tag("label", "Invitation", for_="invitation"),
        field,
        tag("p", "It is filled in if you opened the link that you were sent.", class_="note"),
        tag("button", "Accept the invitation", type="submit", class_="act main"),
        method="post",
        action=INVITATION,
        class_="card sign-in",
    )


def other_person(session: Session) -> Markup:
    """The way out for a reader who is signed in as another person."""
    return sign_out_form(session.identity.label or session.identity.id)


def add_invitation(
    app: FastAPI, client: ApiClient, sessions: Sessions, *, issuer: str | None, secure: bool
) -> None:
    """Add the form, and the route that takes it.

    Args:
        app: the application.
        client: of the API, which redeems.
        sessions: of this process.
        issuer: that signs people in; without one the invited gets a token.
        secure: browsers come by TLS, so the cookie may travel only by it.
    """

    async def accepted(request: Request, invitation: str) -> Response:
        if issuer is None:
            return await _with_token(request, invitation)
        session = await sessions.renewed(request.cookies.get(COOKIE))
        if session is None:
            return redirect(INVITATION)
        found = await client.redeem(session.token, invitation)
        sessions.update(session.id, joined(session.identity, _membership(found)))
        return redirect(_tenant(found))

    async def _with_token(request: Request, invitation: str) -> Response:
        found = await client.redeem(invitation, invitation)
        # Nothing more is asked: the invitation is used up, and the token is known nowhere but here.
        token, who = found.token or "", Identity(id=found.id, label=found.label)
        sessions.end(request.cookies.get(COOKIE))
        session = sessions.begin(token, joined(who, _membership(found)))
        sessions.show_once(session.id, token)
        answer = redirect(_tenant(found))
        keep_session(answer, session, secure)
        return answer

    @app.get(INVITATION)
    async def form(request: Request, reason: str = "") -> Response:
        session = sessions.find(request.cookies.get(COOKIE))
        parts = [invitation_form(reason, issuer, session)]
        parts += [] if session is None else [other_person(session)]
        return plain_page("hifi: invitation", *(tag("div", each, class_="span-12") for each in parts))

    @app.post(INVITATION)
    async def accept(request: Request) -> Response:
        invitation = (await posted(request)).get("invitation", "").strip()
        if not sendable(invitation):
            return _back("refused")
        try:
            return await accepted(request, invitation)
        except ProblemError as error:
            if issuer is not None and error.status == HTTPStatus.UNAUTHORIZED:  # it is about the person
                sessions.end(request.cookies.get(COOKIE))
                return redirect(sign_in_path("ended", INVITATION))
            return _back(_BY_STATUS.get(error.status) or reason_of(error.status))
        except (UnreachableError, ProviderAwayError):
            return _back("away")


def _back(reason: str) -> Response:
    return redirect(f"{INVITATION}?reason={reason}")


def _membership(found: Redeemed) -> MembershipView:
    return MembershipView(tenant=found.tenant, role=found.role)


def _tenant(found: Redeemed) -> str:
    return f"{HOME}/{quote(found.tenant, safe='')}/sources"
