"""The right to see all tenants' meter ends with the session, the token, or the role."""

import asyncio

import pytest
from fastapi import Request

from pipelines.management.console.api_client import ApiClient, ProblemError
from pipelines.management.console.fair_threads import FairThreads
from pipelines.management.console.meter.access import AccessEndedError, OperatorAccess
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.pages.visit import Desk
from pipelines.management.console.session import COOKIE, LIFE_MS, Identity, Session, Sessions

OPERATOR = Identity(id="t1", role="operator")


class Api(ApiClient):
    """An API with scripted answers about every token."""

    def __init__(self) -> None:
        super().__init__("http://127.0.0.1:9", 1)
        self.says: Identity | Exception = OPERATOR

    async def whoami(self, token: str) -> Identity:
        if isinstance(self.says, Exception):
            raise self.says
        return self.says


class Side:
    """A signed-in operator with its access, and everything on which that depends."""

    def __init__(self) -> None:
        self.now = 0
        self.api, self.sessions = Api(), Sessions(lambda: self.now)
        self.session: Session = self.sessions.begin("secret", OPERATOR)
        self.desk = Desk(
            client=self.api, sessions=self.sessions, threads=FairThreads(), issuer=None, public=None
        )
        cookie = (b"cookie", f"{COOKIE}={self.session.id}".encode())
        request = Request({"type": "http", "path": "/", "headers": [cookie]})
        visit = asyncio.run(self.desk.visit(request, ""))
        assert visit is not None
        self.visit, self.access = visit, OperatorAccess(visit)

    def confirm(self) -> None:
        asyncio.run(self.access.confirm())


@pytest.fixture
def side() -> Side:
    return Side()


def test_access_to_the_meter_holds_while_the_api_confirms_it(side: Side) -> None:
    side.confirm()
    assert side.access.is_open


@pytest.mark.parametrize("how", ["signed out", "too old"])
def test_access_to_the_meter_ends_with_the_session_without_a_request(side: Side, how: str) -> None:
    if how == "signed out":
        side.sessions.end(side.session.id)
    else:
        side.now = LIFE_MS
    assert not side.access.is_open
    with pytest.raises(AccessEndedError):
        side.confirm()


def test_a_revoked_token_ends_it_and_its_session(side: Side) -> None:
    side.api.says = ProblemError(401, "unknown token")
    with pytest.raises(AccessEndedError):
        side.confirm()
    assert not side.access.is_open and side.sessions.find(side.session.id) is None


def test_another_role_ends_access_to_the_meter_and_stays_in_the_session(side: Side) -> None:
    side.api.says = Identity(id="t1", role="viewer", tenant="shop")
    with pytest.raises(AccessEndedError):
        side.confirm()
    found = side.sessions.find(side.session.id)
    assert not side.access.is_open and found is not None and found.identity == side.api.says


@pytest.mark.parametrize("failure", [UnreachableError("away"), ProblemError(429, "too many requests")])
def test_an_api_that_does_not_say_neither_confirms_nor_ends_it(side: Side, failure: Exception) -> None:
    side.api.says = failure
    with pytest.raises(UnreachableError, match=str(failure)):
        side.confirm()
    assert side.access.is_open


def test_pages_of_documents_ask_for_operators_too(side: Side) -> None:
    side.api.says = Identity(id="t1", role="viewer", tenant="shop")
    assert not asyncio.run(side.desk.informed(side.visit)).session.identity.operates
    side.api.says = ProblemError(401, "unknown token")
    with pytest.raises(ProblemError):
        asyncio.run(side.desk.informed(side.visit))
