"""Requests per second: of one token, and of all of a tenant's tokens together."""

from typing import Annotated, Any

from fastapi import Depends, FastAPI
from fastapi.testclient import TestClient

from pipelines.management.api.problems import ProblemError
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.permissions import Action
from pipelines.management.api.rights.rate_limits import RateLimits
from shared.contracts.api_answers.access import Role


class Bearers:
    """Knows bearers such as `shop/3`, a viewer of shop; `operator` is one."""

    @staticmethod
    def holder(bearer: str) -> str:
        return bearer

    @staticmethod
    def caller(holder: str, target: str | None) -> Caller:
        tenant, _, _ = holder.partition("/")
        operates = tenant == "operator"
        role = Role.OPERATOR if operates else Role.VIEWER
        return Caller(
            id=holder, label=holder, role=role, tenant=None if operates else tenant, expires_ms=None
        )


class Api:
    """One route on the test's clock; 2 requests a second for each token, 3 for each tenant."""

    def __init__(self) -> None:
        self.now = 0.0
        bearers: Any = Bearers()
        tokens, tenants = (RateLimits(rate, lambda: self.now) for rate in (2.0, 3.0))
        access = Access(bearers, tokens, tenants)
        app = FastAPI()
        app.add_exception_handler(ProblemError, lambda _, error: _answer(error))

        @app.get("/v1/tenants/{tenant}/x")
        def x(tenant: str, caller: Annotated[Caller, Depends(access.guard(Action.READ))]) -> str:
            return caller.id

        self.http = TestClient(app)

    def ask(self, bearer: str, tenant: str = "shop") -> Any:
        return self.http.get(f"/v1/tenants/{tenant}/x", headers={"Authorization": f"Bearer {bearer}"})

    def statuses(self, *bearers: str) -> list[int]:
        return [self.ask(bearer).status_code for bearer in bearers]


def _answer(error: Exception) -> Any:
    assert isinstance(error, ProblemError)
    return error.response()


def test_a_tenant_with_many_tokens_has_no_higher_rate_than_a_tenants() -> None:
    api = Api()
    assert api.statuses(*(f"shop/{n}" for n in range(6))) == [200] * 6
    refused = api.ask("shop/6")
    assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
    assert refused.json()["detail"] == "too many requests of this tenant; wait as Retry-After says"
    api.now = 0.4
    assert api.statuses("shop/7", "shop/8") == [200, 429]


def test_one_token_is_refused_by_its_own_rate_and_leaves_the_rest_to_others() -> None:
    api = Api()
    assert api.statuses(*["shop/1"] * 4) == [200] * 4
    assert "with this token" in api.ask("shop/1").json()["detail"]
    assert api.statuses("shop/2", "shop/2", "shop/2") == [200, 200, 429]


def test_neither_another_tenant_nor_an_operator_counts_or_is_held_up() -> None:
    api = Api()
    assert api.statuses(*["operator/1"] * 4, *["operator/2"] * 4) == [200] * 8
    assert [api.ask(f"other/{n}").status_code for n in range(6)] == [404] * 6, "requests of another tenant"
    assert api.statuses(*(f"shop/{n}" for n in range(6))) == [200] * 6
