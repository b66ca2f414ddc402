"""A token or an invitation is called wrong only if the API calls it wrong."""

from http.server import BaseHTTPRequestHandler
from typing import Any

import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipelines.management.console.api_client import ApiClient
from pipelines.management.console.session import COOKIE, Identity, Sessions
from pipelines.management.console.signing_in.invitations import add_invitation
from pipelines.management.console.signing_in.issuer_sign_in import add_issuer_sign_in
from pipelines.management.console.signing_in.sign_in import add_sign_in
from shared.oidc.code_flow import SignedIn, SignIn
from tests.harness.http_server import QuietHandler, http_served

ISSUER = "https://issuer.example.com"
SIGNED_IN = SignedIn(token="jwt", claims={"exp": 1_000}, refresh_token=None)


class Flow:
    """An issuer that accepts every sign-in."""

    def __init__(self) -> None:
        self.state = ""

    def address(self, sign_in: SignIn, prompt: str | None = None) -> str:
        self.state = sign_in.state
        return f"{ISSUER}/authorize"

    def redeem(self, code: str, sign_in: SignIn) -> SignedIn:
        return SIGNED_IN


def answering(status: int) -> type[BaseHTTPRequestHandler]:
    """An API that answers every request with a status."""

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            self.respond(status, b"{}")

        def do_POST(self) -> None:
            self.rfile.read(int(self.headers.get("Content-Length") or 0))
            self.respond(status, b"{}")

    return Handler


def with_token(url: str, token: str = "hifi_x") -> str:
    """The page after the form of tokens."""
    app = FastAPI()
    add_sign_in(app, ApiClient(url, 60), Sessions(lambda: 0), issuer=None, secure=False)
    http = TestClient(app, follow_redirects=False)
    return str(http.post("/sign-in", data={"token": token}).headers["location"])


def with_issuer(url: str) -> str:
    """The page after the issuer's answer."""
    app, flow = FastAPI(), Flow()
    stands_in: Any = flow
    add_issuer_sign_in(app, ApiClient(url, 60), Sessions(lambda: 0), stands_in, lambda: 0, secure=False)
    http = TestClient(app, follow_redirects=False)
    http.get("/sign-in/start")
    return str(http.get(f"/sign-in/callback?code=c&state={flow.state}").headers["location"])


def with_invitation(url: str, issuer: str | None = None, invitation: str = "hifi_invite_x") -> str:
    """The page after the form of invitations."""
    app, sessions = FastAPI(), Sessions(lambda: 0)
    session = sessions.begin("jwt", Identity(id="ann", issuer=issuer), SIGNED_IN if issuer else None)
    add_invitation(app, ApiClient(url, 60), sessions, issuer=issuer, secure=False)
    http = TestClient(app, follow_redirects=False, cookies={COOKIE: session.id})
    return str(http.post("/invitation", data={"invitation": invitation}).headers["location"])


@pytest.mark.parametrize(
    ("status", "token", "person"),
    [
        (401, "refused", "unknown-here"),
        (429, "busy", "busy"),
        (404, "away", "away"),  # another program's address
        (400, "away", "away"),
        (499, "away", "away"),  # a proxy's own status, which no standard names
        (503, "away", "away"),
    ],
)
def test_a_sign_in_is_refused_only_if_the_api_says_so(status: int, token: str, person: str) -> None:
    with http_served(answering(status)) as url:
        assert with_token(url).startswith(f"/sign-in?reason={token}&")
        assert with_issuer(url).startswith(f"/sign-in?reason={person}&")


@pytest.mark.parametrize(
    ("status", "reason"),
    [
        (401, "refused"),
        (403, "not-a-person"),
        (404, "refused"),
        (409, "full"),
        (429, "busy"),
        (413, "away"),
        (499, "away"),
        (503, "away"),
    ],
)
def test_an_invitation_is_refused_only_if_the_api_says_so(status: int, reason: str) -> None:
    with http_served(answering(status)) as url:
        assert with_invitation(url) == f"/invitation?reason={reason}"


def test_what_no_token_or_invitation_can_be_is_refused_without_a_request() -> None:
    nowhere = "http://127.0.0.1:9"
    for typed in (" ", "hifi_ä"):
        assert with_token(nowhere, typed).startswith("/sign-in?reason=refused&")
        assert with_invitation(nowhere, invitation=typed) == "/invitation?reason=refused"


@pytest.mark.parametrize("page", ["/sign-in?reason=busy", "/invitation?reason=busy"])
def test_an_api_that_is_busy_is_said(page: str) -> None:
    app, client, sessions = FastAPI(), ApiClient("http://127.0.0.1:9", 60), Sessions(lambda: 0)
    add_sign_in(app, client, sessions, issuer=None, secure=False)
    add_invitation(app, client, sessions, issuer=None, secure=False)
    assert "too many requests" in TestClient(app).get(page).text


def test_a_person_whom_the_api_does_not_know_any_more_signs_in_anew_before_the_invitation_is_judged() -> None:
    with http_served(answering(401)) as url:
        assert with_invitation(url, ISSUER) == "/sign-in?reason=ended&next=%2Finvitation"
    with http_served(answering(404)) as url:
        assert with_invitation(url, ISSUER) == "/invitation?reason=refused"
