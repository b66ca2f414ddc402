"""Every route and method of the OpenAPI description, for every role, in its own and in another tenant."""

import re
from collections.abc import Iterator, Mapping

import pytest

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import topic_specs
from shared.kafka.admin import ensure_topics
from tests.contract.management.api_process import ANY, ApiProcess, destination
from tests.harness.recorded_store import RecordedStore, recorded_store
from tests.harness.scripted_observe import scripted_observe

ROLES = ("viewer", "editor", "owner")
VERBS = ("get", "put", "post", "delete", "patch")
OPEN = {"/healthz", "/readyz", "/metrics"}
SECRET = "hidden-name"
"""A name of another tenant's documents that requests guess."""

UNGUESSED = "never-asked-for"
"""Names and labels of the same tenant that no request contains."""

MADE_UP = "nobody-there"


@pytest.fixture(scope="module")
def store(dynamodb_local: str) -> Iterator[RecordedStore]:
    with recorded_store(dynamodb_local) as found:
        yield found


@pytest.fixture(scope="module")
def api(
    brokers: Cluster, store: RecordedStore, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """A process with brokers and a meter, so that every route answers."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    folder = tmp_path_factory.mktemp("api")
    with scripted_observe() as observe:
        process = ApiProcess(folder, store.url, bootstrap=brokers.bootstrap, observe_url=observe.url)
        yield process
        process.kill()


@pytest.fixture(scope="module")
def routes(api: ApiProcess) -> Mapping[str, Mapping[str, object]]:
    found: Mapping[str, Mapping[str, object]] = api.request("GET", "/openapi.json").json["paths"]
    return {path: verbs for path, verbs in found.items() if path not in OPEN}


@pytest.fixture(scope="module")
def tokens(api: ApiProcess) -> Mapping[str, str]:
    documents = [
        {"kind": kind, "name": name, **fields}
        for name in (SECRET, UNGUESSED)
        for kind, fields in (("destination", destination()), ("source", {}))
    ]
    documents += [{"kind": "pipe", "name": UNGUESSED, "source": UNGUESSED, "destination": UNGUESSED}]
    assert api.ask("POST", "/v1/tenants/other/apply", {"documents": documents}).status == 200
    assert api.ask("POST", f"/v1/tenants/other/sources/{SECRET}/keys", {"label": UNGUESSED}).status == 201
    api.token("other", "owner", label=UNGUESSED)
    return {role: api.token("mine", role) for role in ROLES} | {"operator": api.operator}


def filled(path: str, tenant: str) -> Iterator[str]:
    """The path with values: existing kinds and an unknown one."""
    path = path.replace("{tenant}", tenant).replace("{name}", SECRET)
    for kind in ("destinations", "sources", "nonsense") if "{kind}" in path else ("",):
        yield re.sub(r"\{\w+\}", "0123456789abcdef", path.replace("{kind}", kind))


def needed(path: str, verb: str) -> str:
    """The lowest role that a route permits, by its path and method alone."""
    own = ("/v1/sides", "/v1/audit", "/v1/tenants", "/v1/tenants/{tenant}")
    if path.startswith("/v1/tokens") or path in own:
        return "operator"
    if path == "/v1/invitations/redeem":
        return "person"  # only with an issuer's sign-in; no token of hifi will do
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


MOST_RIGHTS_FIRST = ["owner", *(pytest.param(each, marks=pytest.mark.proof) for each in ROLES[:2])]
"""In `make test` the role with the most rights here, and so perhaps elsewhere."""


@pytest.mark.parametrize("role", MOST_RIGHTS_FIRST)
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


@pytest.mark.parametrize("role", [*ROLES, "operator"])
def test_in_its_own_tenant_a_role_is_refused_what_it_may_not_and_sees_nothing_of_others(
    api: ApiProcess, routes: Mapping[str, Mapping[str, object]], tokens: Mapping[str, str], role: str
) -> None:
    order = [*ROLES, "operator", "person"]
    for path, verbs in routes.items():
        for verb in verbs:
            forbidden = order.index(role) < order.index(needed(path, verb))
            for at in filled(path, "mine"):
                answer = api.ask(verb.upper(), at, {}, ANY, tokens[role])
                assert (answer.status == 403) == forbidden, (role, verb, at, answer.text)
                assert answer.status < 500, (role, verb, at, answer.text)
                assert UNGUESSED not in answer.text
                assert "/meter/" not in path or answer.json["tenant"] == "mine", at
                declared = verbs[verb]
                assert isinstance(declared, dict)
                assert str(answer.status) in declared["responses"], (verb, at, answer.status)


def test_no_metric_audit_row_or_log_line_of_one_tenant_names_anothers(
    api: ApiProcess, routes: Mapping[str, Mapping[str, object]], tokens: Mapping[str, str]
) -> None:
    for path in (each for each in routes if "{tenant}" in each):
        for verb in VERBS:
            for at in (*filled(path, "other"), *filled(path, "mine")):
                api.ask(verb.upper(), at, {}, ANY, tokens["editor"])
    theirs = api.ask("GET", "/v1/tenants/other/audit").json["items"]
    assert {each["role"] for each in theirs} == {"operator"}
    mine = api.ask("GET", "/v1/tenants/mine/audit?limit=200", token=tokens["owner"]).json["items"]
    assert (404, "editor") in {(each["status"], each["role"]) for each in mine}
    assert UNGUESSED not in str(mine)
    metrics = api.request("GET", "/metrics").text
    assert not any(name in metrics for name in ("other", "mine", SECRET, UNGUESSED))
    log = api.log.read_text()
    assert "/v1/tenants/mine/" in log
    assert UNGUESSED not in log


@pytest.mark.parametrize("role", MOST_RIGHTS_FIRST)
def test_what_another_tenant_has_is_decided_before_anything_of_it_is_read(
    api: ApiProcess,
    routes: Mapping[str, Mapping[str, object]],
    tokens: Mapping[str, str],
    store: RecordedStore,
    role: str,
) -> None:
    """Otherwise the work and the time of an answer would depend on what exists there."""
    for path in (each for each in routes if "{tenant}" in each):
        for verb in routes[path]:
            for there, nowhere in zip(filled(path, "other"), filled(path, MADE_UP), strict=True):
                asked = []
                for at in (there, nowhere):
                    store.taken()
                    assert api.ask(verb.upper(), at, {}, ANY, tokens[role]).status == 404
                    # Not each refusal writes the minute's row; it depends on how many came before.
                    asked.append([each for each in store.taken() if each != ("PutItem", "audit#mine")])
                assert asked[0] == asked[1], (verb, there)
                assert set(asked[0]) == {("GetItem", "tokens#")}, (verb, there, asked[0])
