"""Sign-in by an OpenID Connect issuer: which tokens the API accepts, and what their owners may do."""

import base64
import hmac
import json
import time
from collections.abc import Callable, Iterator
from typing import Any

import pytest

from tests.contract.management.api_process import ApiProcess
from tests.harness.oidc_provider import CLIENT, OidcProvider, new_key, rsa_key
from tests.harness.waiting import eventually

ME = "/v1/whoami"
CLAIMS = {"oidc_tenant_claim": "hifi_tenant", "oidc_role_claim": "hifi_role"}


@pytest.fixture(scope="module")
def shared_provider() -> Iterator[OidcProvider]:
    provider = OidcProvider()
    provider.published.append(rsa_key("rsa"))
    yield provider
    provider.close()


@pytest.fixture
def provider(shared_provider: OidcProvider) -> OidcProvider:
    """The shared provider, restored except for its keys."""
    shared_provider.away = False
    return shared_provider


@pytest.fixture(scope="module")
def api(
    shared_provider: OidcProvider, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    settings = {"oidc_issuer": shared_provider.issuer, "oidc_audience": f"other, {CLIENT}", **CLAIMS}
    process = ApiProcess(tmp_path_factory.mktemp("api"), dynamodb_local, **settings)
    yield process
    process.kill()


def _base64(text: bytes) -> str:
    return base64.urlsafe_b64encode(text).decode().rstrip("=")


def _unsigned(provider: OidcProvider) -> str:
    """A token with the algorithm `none`."""
    claims = provider.token().split(".")[1]
    header = json.dumps({"alg": "none", "kid": provider.signing.kid}).encode()
    return f"{_base64(header)}.{claims}."


def _hmac_of_the_public_key(provider: OidcProvider) -> str:
    """HS256 with the public key as its secret: accepted wherever the token chooses the algorithm."""
    header = json.dumps({"alg": "HS256", "kid": provider.signing.kid}).encode()
    signed = f"{_base64(header)}.{provider.token().split('.')[1]}"
    digest = hmac.digest(provider.signing.as_pem(private=False), signed.encode(), "sha256")
    return f"{signed}.{_base64(digest)}"


def _altered(provider: OidcProvider) -> str:
    head, body, signature = provider.token().split(".")
    claims = json.loads(base64.urlsafe_b64decode(body + "=" * (-len(body) % 4))) | {"sub": "u-eve"}
    return f"{head}.{_base64(json.dumps(claims).encode())}.{signature}"


def _stranger(provider: OidcProvider) -> str:
    """A token signed with a stranger's key, under the issuer's key id."""
    return provider.token(key=new_key(), kid=provider.signing.kid)


WRONG: dict[str, Callable[[OidcProvider], str]] = {
    "issuer": lambda provider: provider.token(iss="https://evil.example"),
    "issuer-slash": lambda provider: provider.token(iss=provider.issuer + "/"),
    "audience": lambda provider: provider.token(aud="another-client"),
    "no-audience": lambda provider: provider.token(aud=None),
    "expired": lambda provider: provider.token(exp=time.time() - 60),
    "no-expiry": lambda provider: provider.token(exp=None),
    "endless": lambda provider: provider.token(exp=float("nan")),
    "not-yet": lambda provider: provider.token(nbf=time.time() + 120),
    "no-subject": lambda provider: provider.token(sub=None),
    "empty-subject": lambda provider: provider.token(sub=""),
    "key": _stranger,
    "none": _unsigned,
    "hmac": _hmac_of_the_public_key,
    "altered": _altered,
    "not-a-token": lambda _: "a.b.c",
    "text": lambda _: "hello",
    "long": lambda provider: provider.token(more="x" * 20_000),
    "nested": lambda _: f"{base64.urlsafe_b64encode(b'[' * 3_000).decode()}.e30.e30",
}


@pytest.mark.parametrize("what", WRONG)
def test_a_token_that_is_wrong_is_answered_401(api: ApiProcess, provider: OidcProvider, what: str) -> None:
    assert api.ask("GET", ME, token=provider.token()).status == 200
    token = WRONG[what](provider)
    answer = api.ask("GET", ME, token=token)
    assert (answer.status, answer.headers.get("www-authenticate")) == (401, "Bearer"), answer.text
    assert token not in api.log.read_text()


def test_a_token_is_taken_with_several_audiences_a_small_clock_skew_and_an_rsa_key(
    api: ApiProcess, provider: OidcProvider
) -> None:
    late = provider.token(exp=time.time() - 1, nbf=time.time() + 10, aud=["x", CLIENT])
    assert api.ask("GET", ME, token=late).status == 200
    rsa = provider.token(key=provider.published[-1], alg="RS256")
    assert api.ask("GET", ME, token=rsa).status == 200
    assert api.ask("GET", ME).json["role"] == "operator"


def test_a_person_is_known_by_subject_and_has_the_role_that_the_claims_give_in_one_tenant(
    api: ApiProcess, provider: OidcProvider
) -> None:
    token = provider.token(hifi_tenant="claimed", hifi_role="editor")
    me = api.ask("GET", ME, token=token).json
    assert (me["label"], me["role"], me["tenant"], me["issuer"]) == (
        "ann@example.com", "editor", "claimed", provider.issuer
    )  # fmt: skip
    assert api.ask("GET", ME, token=provider.token()).json["id"] == me["id"]
    assert api.ask("GET", ME, token=provider.token(sub="u-bob")).json["id"] != me["id"]
    put = api.ask("PUT", "/v1/tenants/claimed/sources/claimed.s", {}, {"If-None-Match": "*"}, token)
    assert put.status == 201
    listed = api.ask("GET", "/v1/tenants/claimed/sources", token=token).json["items"]
    assert listed[0]["by"] == f"ann@example.com ({me['id']})"
    assert api.ask("GET", "/v1/tenants/other/sources", token=token).status == 404
    assert api.ask("GET", "/v1/tenants/claimed/tokens", token=token).status == 403
    assert api.ask("GET", "/v1/tenants", token=token).status == 403


@pytest.mark.parametrize(
    "claims",
    [
        {},
        {"hifi_role": "owner"},
        {"hifi_tenant": "claimed"},
        {"hifi_tenant": "claimed", "hifi_role": "king"},
        {"hifi_tenant": "claimed", "hifi_role": "operator"},
        {"hifi_tenant": ["claimed"], "hifi_role": "owner"},
        {"hifi_tenant": "claimed", "hifi_role": ["owner"]},
        {"hifi_tenant": "../claimed", "hifi_role": "owner"},
        {"hifi_tenant": "other", "hifi_role": "owner"},
    ],
)
def test_claims_that_give_no_role_here_give_none(
    api: ApiProcess, provider: OidcProvider, claims: dict[str, Any]
) -> None:
    token = provider.token(**claims)
    for path in ("/v1/tenants/claimed/sources", "/v1/tenants/claimed/members"):
        assert api.ask("GET", path, token=token).status == 404
    assert api.ask("GET", "/v1/tenants", token=token).status == 403
    assert api.ask("GET", ME, token=token).json["role"] == ("owner" if "other" in str(claims) else None)


def test_the_issuer_may_name_operators(api: ApiProcess, provider: OidcProvider) -> None:
    token = provider.token(hifi_role="operator")
    assert api.ask("GET", "/v1/tenants", token=token).status == 200
    assert api.ask("GET", "/v1/tenants/claimed/members", token=token).status == 200


@pytest.mark.proof
def test_a_new_key_is_found_and_an_issuer_that_is_away_stops_no_known_key(
    dynamodb_local: str, tmp_path: Any
) -> None:
    provider = OidcProvider()
    process = ApiProcess(tmp_path, dynamodb_local, oidc_issuer=provider.issuer, oidc_audience=CLIENT)
    try:
        old = provider.token()
        assert process.ask("GET", ME, token=old).status == 200
        provider.rotate()
        new = provider.token()
        eventually(lambda: process.ask("GET", ME, token=new).status == 200, 60, "the new key is found")
        read = provider.keys_read
        made_up = [process.ask("GET", ME, token=provider.token(key=new_key())) for _ in range(20)]
        assert {each.status for each in made_up} <= {401, 503}
        assert provider.keys_read <= read + 1, "made-up key ids are requests to the issuer"
        provider.away = True
        provider.rotate()
        answer = process.ask("GET", ME, token=provider.token())
        assert (answer.status, "cannot be checked" in answer.text) == (503, True), answer.text
        assert int(answer.headers["retry-after"]) >= 1
        assert process.ask("GET", ME, token=new).status == 200
        assert process.ask("GET", ME, token=provider.token(kid="gone")).status == 503
        assert process.ask("GET", ME).status == 200
    finally:
        process.kill()
        provider.close()


def test_an_issuer_that_is_away_at_the_start_keeps_no_token_of_hifi_out(
    dynamodb_local: str, tmp_path: Any
) -> None:
    provider = OidcProvider(away=True)
    process = ApiProcess(tmp_path, dynamodb_local, oidc_issuer=provider.issuer, oidc_audience=CLIENT)
    try:
        assert process.ask("GET", ME).status == 200
        assert process.ask("GET", ME, token=provider.token()).status == 503
    finally:
        process.kill()
        provider.close()
