"""Settings that the API accepts or refuses at its start."""

import pytest
from pydantic import ValidationError

from pipelines.management.api.settings import ApiSettings


@pytest.mark.parametrize(
    ("given", "said"),
    [
        ({"oidc_issuer": "http://login.example", "oidc_audience": "x"}, "oidc_issuer"),
        ({"oidc_issuer": "https://i.example?x=1", "oidc_audience": "x"}, "oidc_issuer"),
        ({"oidc_issuer": "https://i.example", "oidc_audience": " , "}, "HIFI_OIDC_AUDIENCE"),
        ({"oidc_audience": "x"}, "set HIFI_OIDC_ISSUER"),
        ({"oidc_role_claim": "x"}, "set HIFI_OIDC_ISSUER"),
        (
            {"oidc_issuer": "https://i.example", "oidc_audience": "x", "oidc_tenant_claim": "t"},
            "HIFI_OIDC_ROLE_CLAIM",
        ),
    ],
)
def test_half_an_issuer_is_refused_by_name(given: dict[str, str], said: str) -> None:
    with pytest.raises(ValidationError, match=said):
        ApiSettings.model_validate(given)


def test_an_issuer_on_this_machine_may_be_without_tls() -> None:
    given = {"oidc_issuer": "http://127.0.0.1:9/realm", "oidc_audience": "a, b,"}
    settings = ApiSettings.model_validate(given)
    assert settings.oidc_audiences == ["a", "b"]


@pytest.mark.parametrize("proxy", [{}, {"public_url": "http://api.example"}])
def test_it_listens_beyond_this_machine_only_if_tls_is_ended_somewhere(proxy: dict[str, str]) -> None:
    with pytest.raises(ValidationError, match=r"HIFI_PUBLIC_URL|public_url"):
        ApiSettings.model_validate({"host": "0.0.0.0"} | proxy)


def test_a_proxy_with_tls_may_be_before_it() -> None:
    given = {"host": "0.0.0.0", "public_url": "https://api.example"}
    assert ApiSettings.model_validate(given).public_url == "https://api.example"
