"""A person who accepts an invitation gets its role, even if the API fails right afterwards."""

from http.server import BaseHTTPRequestHandler

import msgspec
import pytest
from fastapi import FastAPI
from fastapi.testclient import TestClient

from pipelines.management.console.api_client import ApiClient
from pipelines.management.console.session import COOKIE, Identity, Sessions, joined
from pipelines.management.console.signing_in.invitations import add_invitation
from shared.contracts.api_answers.access import MembershipView
from shared.oidc.code_flow import SignedIn
from tests.harness.http_server import QuietHandler, http_served

TOKEN = "hifi_personal"
ISSUER = "https://issuer.example.com"


class Redeems(QuietHandler, BaseHTTPRequestHandler):
    """Redeems any invitation, and fails otherwise."""

    def do_POST(self) -> None:
        token = TOKEN if "hifi_invite" in self.headers["Authorization"] else None
        answer = {"id": "0123456789abcdef", "label": "Ann", "tenant": "shop", "role": "owner", "token": token}
        self.respond(201, msgspec.json.encode(answer))

    def do_GET(self) -> None:
        self.respond(503, b"{}")


def accepted(url: str, sessions: Sessions, issuer: str | None, cookie: str = "") -> str:
    """The browser's session after the form was sent."""
    app = FastAPI()
    add_invitation(app, ApiClient(url, 60), sessions, issuer=issuer, secure=False)
    http = TestClient(app, follow_redirects=False, cookies={COOKIE: cookie} if cookie else {})
    answer = http.post("/invitation", data={"invitation": "hifi_invite_x"})
    assert answer.headers["location"] == "/documents/shop/sources"
    return str(http.cookies[COOKIE])


def test_a_personal_token_is_shown_though_the_api_answers_nothing_more() -> None:
    sessions = Sessions(lambda: 0)
    with http_served(Redeems) as url:
        opened = sessions.find(accepted(url, sessions, None))
    assert opened is not None and opened.token == TOKEN
    membership = MembershipView(tenant="shop", role="owner")
    assert opened.identity == Identity(
        id="0123456789abcdef", label="Ann", role="owner", tenant="shop", tenants=(membership,)
    )
    assert sessions.taken(opened.id) == TOKEN


def test_a_person_has_the_role_in_the_session_at_once() -> None:
    sessions = Sessions(lambda: 0)
    signed_in = SignedIn(token="jwt", claims={"exp": 1_000}, refresh_token=None)
    before = sessions.begin("jwt", Identity(id="ann", issuer=ISSUER), signed_in)
    with http_served(Redeems) as url:
        accepted(url, sessions, ISSUER, before.id)
    opened = sessions.find(before.id)
    assert opened is not None
    assert (opened.identity.role, opened.identity.tenant, opened.identity.issuer) == ("owner", "shop", ISSUER)


def owner_of(tenant: str) -> Identity:
    membership = MembershipView(tenant=tenant, role="owner")
    return Identity(id="ann", role="owner", tenant=tenant, tenants=(membership,))


@pytest.mark.parametrize(
    ("before", "role", "tenant"),
    [
        (Identity(id="ann"), "viewer", "shop"),
        (owner_of("shop"), "viewer", "shop"),
        (owner_of("zoo"), None, None),
        (Identity(id="ann", role="operator"), "operator", None),
    ],
)
def test_who_joins_has_one_role_and_tenant_if_that_is_the_only_one(
    before: Identity, role: str | None, tenant: str | None
) -> None:
    after = joined(before, MembershipView(tenant="shop", role="viewer"))
    assert (after.role, after.tenant) == (role, tenant)
    assert MembershipView(tenant="shop", role="viewer") in after.tenants
    assert len({each.tenant for each in after.tenants}) == len(after.tenants)
