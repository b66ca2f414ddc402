"""Tenants, members and invitations, with people of an issuer and with personal tokens."""

from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from uuid import uuid4

import pytest

from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.oidc_provider import CLIENT, OidcProvider
from tests.harness.service_process import Answer
from tests.harness.waiting import eventually

ME = "/v1/whoami"
REDEEM = "/v1/invitations/redeem"


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    provider = OidcProvider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def people_api(
    provider: OidcProvider, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    folder = tmp_path_factory.mktemp("api")
    with running_api(folder, dynamodb_local, oidc_issuer=provider.issuer, oidc_audience=CLIENT) as process:
        yield process


@pytest.fixture
def tenant() -> str:
    return f"t{uuid4().hex[:8]}"


def invited(api: ApiProcess, tenant: str, role: str, token: str = "", **more: object) -> str:
    """The text of a new invitation."""
    asked = {"role": role, "label": f"{role} of {tenant}"} | more
    answer = api.ask("POST", f"/v1/tenants/{tenant}/invitations", asked, token=token)
    assert answer.status == 201, answer.text
    return str(answer.json["invitation"])


def redeemed(api: ApiProcess, invitation: str, token: str) -> Answer:
    return api.ask("POST", REDEEM, {"invitation": invitation}, token=token)


class Person:
    """A person who signs in at the provider."""

    def __init__(self, api: ApiProcess, provider: OidcProvider, name: str) -> None:
        self.api, self.token = api, provider.token(sub=f"u-{uuid4().hex}", email=f"{name}@example.com")
        self.id = str(api.ask("GET", ME, token=self.token).json["id"])

    def joins(self, tenant: str, role: str, by: str = "") -> None:
        answer = redeemed(self.api, invited(self.api, tenant, role, by), self.token)
        assert (answer.status, answer.json["role"]) == (200, role), answer.text

    def status(self, path: str, method: str = "GET", body: object = None) -> int:
        return self.api.ask(method, path, body, {"If-Match": "*"}, self.token).status


def test_from_a_tenant_that_an_operator_makes_to_a_member_that_is_removed_at_once(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    api = people_api
    root = f"/v1/tenants/{tenant}"
    assert [api.ask("PUT", root).status for _ in range(2)] == [201, 200]
    assert {"tenant": tenant, "version": 0} in api.ask("GET", "/v1/tenants").json["items"]
    ann, bob = Person(api, provider, "ann"), Person(api, provider, "bob")
    assert (ann.status(f"{root}/members"), api.ask("GET", ME, token=ann.token).json["tenants"]) == (404, [])
    ann.joins(tenant, "owner")
    bob.joins(tenant, "viewer", ann.token)
    listed = api.ask("GET", f"{root}/members", token=ann.token).json["items"]
    assert [(each["label"], each["role"]) for each in listed] == [
        ("ann@example.com", "owner"),
        ("bob@example.com", "viewer"),
    ]
    put = f"{root}/sources/{tenant}"
    assert (bob.status(put, "PUT", {}), bob.status(f"{root}/members")) == (403, 403)
    assert ann.status(f"{root}/members/{bob.id}", "PUT", {"role": "editor"}) == 200
    assert bob.status(put, "PUT", {}) == 201
    assert ann.status(f"{root}/members/{bob.id}", "DELETE") == 200
    assert (bob.status(put), bob.status(ME)) == (404, 200)
    audit = api.ask("GET", f"{root}/audit", token=ann.token).json["items"]
    said = [(each["method"], each["status"], each["label"]) for each in audit]
    assert said[0] == ("DELETE", 200, "ann@example.com")
    assert ("PUT", 403, "bob@example.com") in said and ("POST", 200, "bob@example.com") in said
    assert said[-1] == ("PUT", 201, "operator")


def test_a_person_in_two_tenants_has_its_role_in_each_and_sees_both(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    ann, other = Person(people_api, provider, "ann"), f"{tenant}-b"
    ann.joins(tenant, "owner")
    assert people_api.ask("GET", ME, token=ann.token).json["tenant"] == tenant
    ann.joins(other, "viewer")
    me = people_api.ask("GET", ME, token=ann.token).json
    assert (me["tenant"], me["role"]) == (None, None)
    assert me["tenants"] == [{"tenant": tenant, "role": "owner"}, {"tenant": other, "role": "viewer"}]
    assert ann.status("/v1/connectors") == 200 and ann.status("/v1/tenants") == 403
    assert ann.status(f"/v1/tenants/{tenant}/members") == 200
    assert ann.status(f"/v1/tenants/{other}/members") == 403
    assert ann.status(f"/v1/tenants/{'x' * 1_025}/members") == 404, "longer than a key of the table"
    assert ann.status(f"/v1/tenants/{other}/members/{ann.id}", "DELETE") == 403


def test_an_invitation_is_redeemed_once_however_many_try(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    text = invited(people_api, tenant, "editor")
    people = [Person(people_api, provider, f"p{n}") for n in range(6)]
    with ThreadPoolExecutor(6) as pool:
        statuses = list(pool.map(lambda each: redeemed(people_api, text, each.token).status, people))
    assert sorted(statuses) == [200, *[404] * 5]
    assert len(people_api.ask("GET", f"/v1/tenants/{tenant}/members").json["items"]) == 1


def test_of_many_that_join_at_the_same_time_none_is_lost(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    people = [Person(people_api, provider, f"p{n}") for n in range(5)]
    texts = [invited(people_api, tenant, "viewer") for _ in people]
    with ThreadPoolExecutor(5) as pool:
        answers = list(pool.map(redeemed, [people_api] * 5, texts, (each.token for each in people)))
    assert [each.status for each in answers] == [200] * 5
    found = {each["id"] for each in people_api.ask("GET", f"/v1/tenants/{tenant}/members").json["items"]}
    assert found == {each.id for each in people}


def test_the_last_owner_stays_also_when_two_remove_each_other(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    ann, bob = Person(people_api, provider, "ann"), Person(people_api, provider, "bob")
    members = f"/v1/tenants/{tenant}/members"
    ann.joins(tenant, "owner")
    assert ann.status(f"{members}/{ann.id}", "DELETE") == 409
    assert ann.status(f"{members}/{ann.id}", "PUT", {"role": "editor"}) == 409
    bob.joins(tenant, "owner")
    with ThreadPoolExecutor(2) as pool:
        removals = [pool.submit(a.status, f"{members}/{b.id}", "DELETE") for a, b in ((ann, bob), (bob, ann))]
    assert sorted(each.result() for each in removals) in ([200, 404], [200, 409])
    (left,) = people_api.ask("GET", members).json["items"]
    assert left["role"] == "owner"
    assert people_api.ask("DELETE", f"{members}/{left['id']}").status == 200, "an operator may"


def test_an_invitation_ends_when_it_is_withdrawn_or_its_time_is_over_and_is_kept_as_a_digest(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    api, ann = people_api, Person(people_api, provider, "ann")
    path = f"/v1/tenants/{tenant}/invitations"
    text = invited(api, tenant, "owner")
    (listed,) = api.ask("GET", path).json["items"]
    assert text not in str(listed) and listed["role"] == "owner"
    assert api.ask("DELETE", f"{path}/{listed['id']}").status == 204
    assert redeemed(api, text, ann.token).status == 404
    short = invited(api, tenant, "owner", days=1 / 86_400)
    eventually(lambda: not api.ask("GET", path).json["items"], 60)
    assert redeemed(api, short, ann.token).status == 404
    assert not any(each in api.log.read_text() for each in (text, short))
    assert ann.status(f"/v1/tenants/{tenant}/sources") == 404


def test_who_redeems_a_second_invitation_keeps_the_higher_role(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    ann = Person(people_api, provider, "ann")
    ann.joins(tenant, "owner")
    answer = redeemed(people_api, invited(people_api, tenant, "viewer"), ann.token)
    assert (answer.status, answer.json["role"]) == (200, "owner")


def test_owners_invite_up_to_their_own_role_and_no_operator(people_api: ApiProcess, tenant: str) -> None:
    path, asked = f"/v1/tenants/{tenant}/invitations", {"role": "operator", "label": "x"}
    assert people_api.ask("POST", path, asked).status == 422
    assert people_api.ask("POST", path, asked, token=people_api.token(tenant, "owner")).status == 422
    asked["role"] = "viewer"
    assert people_api.ask("POST", path, asked, token=people_api.token(tenant, "editor")).status == 403
    assert people_api.ask("POST", path, asked | {"days": 31}).status == 422


def test_a_strangers_tries_are_no_rows_of_the_table_and_a_token_redeems_nothing(
    people_api: ApiProcess, provider: OidcProvider, tenant: str
) -> None:
    api, eve = people_api, Person(people_api, provider, "eve")
    assert eve.status(f"/v1/tenants/{tenant}/members/x", "DELETE") == 404
    assert redeemed(api, "hifi_invite_guessed", eve.token).status == 404
    assert api.ask("GET", f"/v1/tenants/{tenant}/audit").json["items"] == []
    text = invited(api, tenant, "owner")
    assert redeemed(api, text, api.token(tenant, "viewer")).status == 403
    assert redeemed(api, text, text).status == 401, "with an issuer, invitations are for people"


def test_without_an_issuer_an_invitation_becomes_a_personal_token_whose_role_is_the_members(
    api: ApiProcess, tenant: str
) -> None:
    root = f"/v1/tenants/{tenant}"
    text = invited(api, tenant, "owner")
    made = api.ask("POST", REDEEM, {}, token=text)
    assert (made.status, made.json["role"]) == (201, "owner")
    token, member = made.json["token"], made.json["id"]
    assert api.ask("POST", REDEEM, {}, token=text).status == 401, "used"
    assert api.ask("GET", ME, token=token).json["tenant"] == tenant
    assert api.ask("GET", f"{root}/tokens", token=token).json["items"] == []
    assert api.ask("DELETE", f"{root}/tokens/{member}").status == 404, "members are removed as members"
    assert api.ask("DELETE", f"{root}/members/{member}", token=token).status == 409, "the last owner"
    second = api.ask("POST", REDEEM, {}, token=invited(api, tenant, "owner", token)).json["token"]
    assert api.ask("PUT", f"{root}/members/{member}", {"role": "viewer"}, token=second).status == 200
    assert api.ask("GET", f"{root}/members", token=token).status == 403
    assert api.ask("DELETE", f"{root}/members/{member}", token=second).status == 200
    assert api.ask("GET", ME, token=token).status == 401
    assert not any(secret in api.log.read_text() for secret in (text, token))
