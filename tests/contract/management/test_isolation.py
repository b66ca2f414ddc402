"""Every route and verb of the OpenAPI description, for every role, here and in another tenant."""

import re
from collections.abc import Iterator, Mapping

import pytest

from tests.contract.management.api_process import ANY, ApiProcess, destination

ROLES = ("viewer", "editor", "owner")
VERBS = ("get", "put", "post", "delete", "patch")
OPEN = {"/healthz", "/readyz", "/metrics"}
SECRET = "hidden-name"
MADE_UP = "nobody-there"


@pytest.fixture(scope="module")
def api(side_api: ApiProcess) -> ApiProcess:
    """A process with brokers, so that every route but those of the meter answers."""
    return side_api


@pytest.fixture(scope="module")
def routes(api: ApiProcess) -> Mapping[str, Mapping[str, object]]:
    found: Mapping[str, Mapping[str, object]] = api.request("GET", "/openapi.json").json["paths"]
    return {path: verbs for path, verbs in found.items() if path not in OPEN}


@pytest.fixture(scope="module")
def tokens(api: ApiProcess) -> Mapping[str, str]:
    documents = [{"kind": "destination", "name": SECRET, **destination()}, {"kind": "source", "name": SECRET}]
    assert api.ask("POST", "/v1/tenants/other/apply", {"documents": documents}).status == 200
    return {role: api.token("mine", role) for role in ROLES}


def filled(path: str, tenant: str) -> Iterator[str]:
    """The path with values: kinds that exist and one that does not."""
    path = path.replace("{tenant}", tenant).replace("{name}", SECRET)
    for kind in ("destinations", "sources", "nonsense") if "{kind}" in path else ("",):
        yield re.sub(r"\{\w+\}", "0123456789abcdef", path.replace("{kind}", kind))


def needed(path: str, verb: str) -> str:
    """The least role of a route, by its address and verb alone."""
    if path.startswith("/v1/tokens") or path in ("/v1/tenants", "/v1/tenants/{tenant}"):
        return "operator"
    if path == "/v1/invitations/redeem":
        return "person"  # whom an issuer signs in: nobody with a token of hifi
    if path.endswith(("/tokens", "/tokens/{token_id}", "/audit")) or "/members" in path:
        return "owner"
    if "/invitations" in path:
        return "owner"
    return "viewer" if verb == "get" or path.endswith("/try") else "editor"


def test_without_a_valid_token_every_route_answers_401(
    api: ApiProcess, routes: Mapping[str, Mapping[str, object]]
) -> None:
    for path, verbs in routes.items():
        for verb in verbs:
            for token in (None, "hifi_wrong"):
                answer = api.ask(verb.upper(), next(filled(path, "other")), {}, ANY, token)
                assert (answer.status, answer.headers.get("www-authenticate")) == (401, "Bearer"), path


@pytest.mark.parametrize("role", ROLES)
def test_another_tenants_things_are_answered_as_those_of_one_that_is_not_there(
    api: ApiProcess, routes: Mapping[str, Mapping[str, object]], tokens: Mapping[str, str], role: str
) -> None:
    for path in (each for each in routes if "{tenant}" in each):
        for verb in VERBS:
            for there, nowhere in zip(filled(path, "other"), filled(path, MADE_UP), strict=True):
                answers = [api.ask(verb.upper(), at, {}, ANY, tokens[role]) for at in (there, nowhere)]
                expected = {404} if verb in routes[path] else {404, 405}
                assert answers[0].status in expected, (verb, there)
                assert (answers[0].status, answers[0].text) == (answers[1].status, answers[1].text)
                assert answers[0].headers["content-type"] == "application/problem+json"
                assert SECRET not in answers[0].text


@pytest.mark.parametrize("role", ROLES)
def test_in_its_own_tenant_a_role_is_refused_what_it_may_not(
    api: ApiProcess, routes: Mapping[str, Mapping[str, object]], tokens: Mapping[str, str], role: str
) -> None:
    order = [*ROLES, "operator", "person"]
    for path, verbs in routes.items():
        for verb in verbs:
            forbidden = order.index(role) < order.index(needed(path, verb))
            for at in filled(path, "mine"):
                answer = api.ask(verb.upper(), at, {}, ANY, tokens[role])
                assert (answer.status == 403) == forbidden, (role, verb, at, answer.text)
                assert answer.status < 500 or (answer.status == 503 and "/meter/" in path), (
                    "there is no observe"
                )
                declared = verbs[verb]
                assert isinstance(declared, dict)
                assert str(answer.status) in declared["responses"], (verb, at, answer.status)


def test_no_metric_and_no_audit_row_of_one_tenant_names_another(
    api: ApiProcess, tokens: Mapping[str, str]
) -> None:
    api.ask("PUT", f"/v1/tenants/other/destinations/{SECRET}", {}, ANY, tokens["editor"])
    theirs = api.ask("GET", "/v1/tenants/other/audit").json["items"]
    assert {each["role"] for each in theirs} == {"operator"}
    mine = api.ask("GET", "/v1/tenants/mine/audit", token=tokens["owner"]).json["items"]
    assert (mine[0]["status"], mine[0]["role"]) == (404, "editor")
    metrics = api.request("GET", "/metrics").text
    assert not any(name in metrics for name in ("other", "mine", SECRET))
