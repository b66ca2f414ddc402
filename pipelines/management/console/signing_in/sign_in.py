"""Signing in and out: plain forms, so that a token travels in one POST and never over a websocket."""

from http import HTTPStatus
from typing import Final
from urllib.parse import parse_qs, quote, urlsplit

from fastapi import FastAPI, Request, Response
from starlette.responses import RedirectResponse

from pipelines.management.console.api_client import ApiClient, ProblemError
from pipelines.management.console.html import Markup, tag
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.plain_page import plain_page
from pipelines.management.console.session import COOKIE, Session, Sessions
from shared.contracts.console_pages import DOCUMENTS

SIGN_IN: Final = "/sign-in"
START: Final = SIGN_IN + "/start"
"""Leads to the issuer."""

SIGN_OUT: Final = "/sign-out"
HOME: Final = DOCUMENTS
"""Where a signed-in person arrives; the paths of all pages of documents begin with it."""

SIDES: Final = "/sides"
"""The page of both sides, for operators."""

INVITATION: Final = "/invitation"
"""The page of a link that invites; what follows `#` in the link is the invitation, which no server sees."""

OUT: Final = "out"
"""The reason to show the form after signing out."""

BUSY: Final = "The management API has too many requests of your token or tenant. Try again in a moment."

_MOST_BODY: Final = 4_096
_REASONS: Final = {
    "refused": "That token is unknown, expired or revoked. Ask an owner of your tenant for another.",
    "busy": BUSY,
    "away": "The management API does not answer. Try again in a moment.",
    "ended": "Your session has ended. Sign in again.",
    OUT: "You are signed out.",
    "foreign": "That sign-in was not begun in this browser, or too long ago. Begin it here.",
    "refused-there": "The sign-in was not completed. Try again, or ask who runs this console.",
    "issuer-away": "The sign-in service does not answer. Try again in a moment.",
    "crowded": "Too many people sign in just now. Try again in a moment.",
    "unknown-here": "The management API does not take this sign-in. Ask who runs this console.",
}


def sign_in_path(reason: str = "", after: str = "") -> str:
    """The address of the form."""
    asked = [f"{name}={quote(text, safe='')}" for name, text in (("reason", reason), ("next", after)) if text]
    return SIGN_IN + ("?" + "&".join(asked) if asked else "")


def reason_of(status: int, *, refused: str = "refused") -> str:
    """The reason to show for a status of the API that is none of success.

    `refused` if it is about what was sent. Others are not, as those of another program at `HIFI_API`.
    """
    reasons: dict[int, str] = {HTTPStatus.UNAUTHORIZED: refused, HTTPStatus.TOO_MANY_REQUESTS: "busy"}
    return reasons.get(status, "away")


def start_path(after: str, *, again: bool = False) -> str:
    """The address that leads to the issuer; `again` has the person prove anew who it is."""
    return f"{START}?next={quote(safe_next(after), safe='')}" + ("&again=" if again else "")


def safe_next(path: str) -> str:
    """Where to go after signing in: only to the console's own pages."""
    plain = path.isprintable() and "\\" not in path and ".." not in path
    own = path in (HOME, SIDES, INVITATION) or path.startswith(HOME + "/")
    return path if plain and own else HOME


def sign_in_form(reason: str, after: str, issuer: str | None) -> Markup:
    """The form; with an `issuer`, first the way to it."""
    said = _REASONS.get(reason)
    return tag(
        "form",
        tag("h2", "Sign in"),
        tag("p", said, class_="said", role="alert") if said else None,
        issuer_link(issuer, after, again=reason == OUT),
        tag("h3", "Or with a token") if issuer else None,
        tag("label", "Token", for_="token"),
        _field("token", "password", ""),
        _hidden("next", safe_next(after)),
        tag("p", "A token of the management API: an owner of your tenant makes one; of a local side, "
            "it is in the file that hifi up names.", class_="note"),
        tag("button", "Sign in", type="submit", class_="act" if issuer else "act main"),
        method="post",
        action=SIGN_IN,
        class_="card sign-in",
    )  # fmt: skip


def issuer_link(issuer: str | None, after: str, *, again: bool = False) -> Markup | None:
    """The way to the issuer, by its host's name; None without an issuer."""
    if issuer is None:
        return None
    text = f"Sign in with {urlsplit(issuer).hostname}"
    return tag("a", text, href=start_path(after, again=again), class_="act main", data_testid="issuer")


def sign_out_form(who: str) -> Markup:
    """A button that signs out."""
    button = tag("button", "Sign out", type="submit", class_="theme")
    return tag("form", tag("span", who, class_="quiet"), button, method="post", action=SIGN_OUT, class_="who")


def _field(name: str, kind: str, value: str) -> Markup:
    return tag(
        "input", id=name, name=name, type=kind, value=value, required="", autocomplete="off",
        spellcheck="false", maxlength=512,
    )  # fmt: skip


def _hidden(name: str, value: str) -> Markup:
    return tag("input", name=name, type="hidden", value=value)


def add_sign_in(
    app: FastAPI, client: ApiClient, sessions: Sessions, *, issuer: str | None, secure: bool
) -> None:
    """Add the form, and the routes that take it.

    Args:
        app: the application.
        client: of the API, which says who holds a token.
        sessions: of this process.
        issuer: that signs people in; None: tokens alone do.
        secure: browsers come by TLS, so the cookie may travel only by it.
    """

    @app.get(SIGN_IN)
    async def form(reason: str = "", next: str = HOME) -> Response:  # noqa: A002  # the query's name
        return plain_page("hifi: sign in", tag("div", sign_in_form(reason, next, issuer), class_="span-12"))

    @app.post(SIGN_IN)
    async def sign_in(request: Request) -> Response:
        fields = await posted(request)
        token, after = fields.get("token", "").strip(), safe_next(fields.get("next", ""))
        if not sendable(token):
            return redirect(sign_in_path("refused", after))
        try:
            identity = await client.whoami(token)
        except ProblemError as error:
            return redirect(sign_in_path(reason_of(error.status), after))
        except UnreachableError:
            return redirect(sign_in_path("away", after))
        sessions.end(request.cookies.get(COOKIE))
        answer = redirect(after)
        keep_session(answer, sessions.begin(token, identity), secure)
        return answer

    @app.post(SIGN_OUT)
    async def sign_out(request: Request) -> Response:
        sessions.end(request.cookies.get(COOKIE))
        answer = redirect(sign_in_path(OUT))
        answer.delete_cookie(COOKIE, httponly=True, samesite="lax", secure=secure)
        return answer


def sendable(secret: str) -> bool:
    """Whether a secret that was typed can stand in a header at all; none that the API makes cannot."""
    return secret.isascii() and secret.isprintable() and secret != ""


def keep_session(answer: Response, session: Session, secure: bool) -> None:
    """The cookie ends with the browser; the session ends here."""
    answer.set_cookie(COOKIE, session.id, httponly=True, samesite="lax", secure=secure)


def redirect(path: str) -> Response:
    """Send the browser to an address."""
    return RedirectResponse(path, HTTPStatus.SEE_OTHER)


async def posted(request: Request) -> dict[str, str]:
    """The fields of a form; none if it is too large."""
    body = b""
    async for part in request.stream():
        body += part
        if len(body) > _MOST_BODY:
            return {}
    found = parse_qs(body.decode("utf-8", "replace"), max_num_fields=8)
    return {name: values[0] for name, values in found.items()}
