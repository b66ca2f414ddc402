"""Access made by a removed member belongs to the tenant, and stays unless ended: the removal reports it."""

from typing import Any
from uuid import uuid4

import pytest

from tests.contract.management.api_process import ApiProcess

REDEEM = "/v1/invitations/redeem"


class Owner:
    """A member of a tenant with a personal token, and the access made with it."""

    def __init__(self, api: ApiProcess, tenant: str) -> None:
        self.api, self.root = api, f"/v1/tenants/{tenant}"
        asked = {"role": "owner", "label": "ann (0123456789abcdef)"}
        text = api.ask("POST", f"{self.root}/invitations", asked).json["invitation"]
        member = api.ask("POST", REDEEM, {}, token=text).json
        self.id, self.token = member["id"], member["token"]

    def makes(self, role: str, token: str = "") -> Any:
        asked = {"role": role, "label": f"{role} of a program"}
        made = self.api.ask("POST", f"{self.root}/tokens", asked, token=token or self.token)
        assert made.status == 201, made.text
        return made.json

    def invites(self, role: str) -> Any:
        asked = {"role": role, "label": "x"}
        return self.api.ask("POST", f"{self.root}/invitations", asked, token=self.token).json

    def removed(self, query: str = "") -> Any:
        answer = self.api.ask("DELETE", f"{self.root}/members/{self.id}{query}")
        assert answer.status == 200, answer.text
        return answer.json


@pytest.fixture
def ann(api: ApiProcess) -> Owner:
    return Owner(api, f"t{uuid4().hex[:8]}")


def ids(items: Any) -> set[str]:
    return {each["id"] for each in items}


def test_a_removal_names_what_the_member_made_also_through_its_tokens_and_that_goes_on_working(
    api: ApiProcess, ann: Owner
) -> None:
    by_operator = api.ask("POST", f"{ann.root}/tokens", {"role": "owner", "label": "x"}).json
    first = ann.makes("owner")
    second, invitation = ann.makes("viewer", first["token"]), ann.invites("editor")
    found = ann.removed()
    assert (ids(found["tokens"]), ids(found["invitations"])) == (
        {first["id"], second["id"]},
        {invitation["id"]},
    )
    assert found["revoked"] is False
    assert not any(made["token"] in str(found) for made in (first, second))
    assert [
        api.ask("GET", f"{ann.root}/sources", token=made["token"]).status
        for made in (first, second, by_operator)
    ] == [200, 200, 200]
    row = api.ask("GET", f"{ann.root}/audit").json["items"][0]
    assert (row["method"], row["detail"]) == ("DELETE", "live on: tokens: 2, invitations: 1")


def test_a_removal_with_revoke_ends_what_the_member_made_and_nothing_else(
    api: ApiProcess, ann: Owner
) -> None:
    by_operator = api.ask("POST", f"{ann.root}/tokens", {"role": "owner", "label": "x"}).json
    first = ann.makes("owner")
    second, invitation = ann.makes("viewer", first["token"]), ann.invites("owner")
    assert ann.removed("?revoke=true")["revoked"] is True
    tokens = (first["token"], second["token"], ann.token, by_operator["token"])
    statuses = [api.ask("GET", f"{ann.root}/sources", token=token).status for token in tokens]
    assert statuses == [401, 401, 401, 200]
    assert api.ask("POST", REDEEM, {}, token=invitation["invitation"]).status == 401
    assert api.ask("GET", f"{ann.root}/invitations").json["items"] == []


def test_a_lowered_role_names_the_tokens_above_it(api: ApiProcess, ann: Owner) -> None:
    high, low = ann.makes("owner"), ann.makes("viewer")
    path = f"{ann.root}/members/{ann.id}"
    found = api.ask("PUT", path, {"role": "editor"}).json
    assert (found["role"], ids(found["tokens"]), found["revoked"]) == ("editor", {high["id"]}, False)
    assert api.ask("PUT", f"{path}?revoke=true", {"role": "editor"}).json["revoked"] is True
    statuses = [api.ask("GET", f"{ann.root}/sources", token=each["token"]).status for each in (high, low)]
    assert statuses == [401, 200]


def test_a_removal_that_is_refused_ends_nothing(api: ApiProcess, ann: Owner) -> None:
    made = ann.makes("owner")
    refused = api.ask("DELETE", f"{ann.root}/members/{ann.id}?revoke=true", token=ann.token)
    assert refused.status == 409, "the last owner"
    assert api.ask("GET", f"{ann.root}/sources", token=made["token"]).status == 200
    assert api.ask("DELETE", f"{ann.root}/members/{ann.id}?revoke=yes").status == 400
