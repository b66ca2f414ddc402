"""Sign-in with code and PKCE against a provider on a real socket: accepted and refused answers."""

from collections.abc import Callable, Iterator
from typing import Any
from urllib.parse import parse_qs, urlsplit

import httpx
import pytest

from shared.oidc.code_flow import CodeFlow, SignIn, new_sign_in
from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.keys import KeyCache
from shared.oidc.provider import Provider
from shared.oidc.verifier import Verifier
from shared.runtime.clock import wall_clock
from tests.harness.oidc_provider import CLIENT, SECRET, OidcProvider

HERE = "http://127.0.0.1:9/sign-in/callback"


@pytest.fixture
def provider() -> Iterator[OidcProvider]:
    provider = OidcProvider(redirect=HERE)
    yield provider
    provider.close()


def flow_of(provider: OidcProvider, **other: Any) -> CodeFlow:
    at = Provider(other.pop("issuer", provider.issuer))
    verifier = Verifier(at.issuer, [CLIENT], KeyCache(at.keys, lambda: 0.0), wall_clock)
    asked = {"client_id": CLIENT, "secret": SECRET, "redirect": HERE, "scopes": "openid email"}
    return CodeFlow(at, verifier, **(asked | other))


def code_of(provider: OidcProvider, flow: CodeFlow, sign_in: SignIn) -> str:
    """The code that the provider hands to the browser."""
    address = flow.address(sign_in)
    assert httpx.get(address).status_code == 200
    back = httpx.post(address, data={"yes": "1"}).headers["location"]
    query = parse_qs(urlsplit(back).query)
    assert back.startswith(HERE + "?") and query["state"] == [sign_in.state]
    return query["code"][0]


def test_a_person_is_signed_in_and_the_token_is_renewed(provider: OidcProvider) -> None:
    flow, sign_in = flow_of(provider), new_sign_in()
    found = flow.redeem(code_of(provider, flow, sign_in), sign_in)
    assert (found.claims["sub"], found.claims["nonce"]) == ("u-ann", sign_in.nonce)
    assert found.until_ms > wall_clock()
    following = flow.renew(found)
    assert (following.claims["sub"], following.refresh_token != found.refresh_token) == ("u-ann", True)
    with pytest.raises(TokenRefusedError, match="400 invalid_grant"):
        flow.renew(found)


def test_a_code_is_good_once_and_only_for_who_asked(provider: OidcProvider) -> None:
    flow, sign_in = flow_of(provider), new_sign_in()
    code = code_of(provider, flow, sign_in)
    flow.redeem(code, sign_in)
    for other in (sign_in, new_sign_in()):
        with pytest.raises(TokenRefusedError):
            flow.redeem(code, other)
    stolen = code_of(provider, flow, sign_in)
    with pytest.raises(TokenRefusedError):
        flow.redeem(stolen, new_sign_in())


def test_a_token_of_another_sign_in_is_refused(provider: OidcProvider) -> None:
    flow, sign_in = flow_of(provider), new_sign_in()
    code = code_of(provider, flow, sign_in)
    forged = SignIn(state=sign_in.state, nonce="another", verifier=sign_in.verifier)
    with pytest.raises(TokenRefusedError, match="nonce"):
        flow.redeem(code, forged)


WRONG: dict[str, Callable[[OidcProvider], CodeFlow]] = {
    "secret": lambda provider: flow_of(provider, secret="guess"),
    "public": lambda provider: flow_of(provider, secret=None),
}


@pytest.mark.parametrize("what", WRONG)
def test_a_client_that_the_provider_does_not_know_gets_nothing(provider: OidcProvider, what: str) -> None:
    flow, sign_in = WRONG[what](provider), new_sign_in()
    with pytest.raises(TokenRefusedError):
        flow.redeem(code_of(provider, flow, sign_in), sign_in)


def test_a_description_of_another_issuer_is_not_believed(provider: OidcProvider) -> None:
    real = provider.issuer
    provider.issuer = "https://evil.example"
    with pytest.raises(ProviderAwayError, match="names another issuer"):
        flow_of(provider, issuer=real).address(new_sign_in())


def test_a_renewed_token_of_another_person_is_refused(provider: OidcProvider) -> None:
    flow, sign_in = flow_of(provider), new_sign_in()
    found = flow.redeem(code_of(provider, flow, sign_in), sign_in)
    for grant in provider.grants.values():
        grant.claims["sub"] = "u-eve"
    with pytest.raises(TokenRefusedError, match="another person"):
        flow.renew(found)


def test_the_description_is_read_once_a_minute_and_again_after_a_failure(provider: OidcProvider) -> None:
    now = 0.0
    at = Provider(provider.issuer, lambda: now)
    provider.away = True
    with pytest.raises(ProviderAwayError):
        at.metadata()
    provider.away = False
    found = at.metadata()
    provider.away, now = True, 59.0
    assert at.metadata() == found
    now = 61.0
    with pytest.raises(ProviderAwayError):
        at.metadata()


def test_an_issuer_that_is_away_is_named(provider: OidcProvider) -> None:
    provider.away = True
    with pytest.raises(ProviderAwayError, match=f"{provider.issuer}.* answers 500"):
        flow_of(provider).address(new_sign_in())
