"""A side's management API and console, reached through its load balancer, over TLS."""

import pytest

from infra.config import Environment, EnvironmentName, RunSettings, load_environment
from infra.management import SignIn
from infra.naming import Side
from infra.workloads.values import release_values, side_values
from pipelines.management.api.settings import ApiSettings
from pipelines.management.console.settings import ConsoleSettings
from tests.synth.workloads.manifests import Manifest, container, environment, named, of_kind, wanted

PRODUCTION = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))
SIGN_IN = SignIn(
    issuer="https://login.example.com/",
    console_client="console",
    other_clients=["command-line"],
    tenant_claim="org",
    role_claim="role",
)
SERVICES = ("api", "console")


def with_sign_in(sign_in: SignIn) -> Environment:
    management = PRODUCTION.management.model_copy(update={"sign_in": sign_in})
    return PRODUCTION.model_copy(update={"management": management})


def plain(manifests: list[Manifest], name: str) -> dict[str, str]:
    """The settings in a pod's manifest."""
    values = environment(named(manifests, "Deployment", name))
    return {key: value for key, value in values.items() if key.startswith("HIFI_")}


def side_settings(sign_in: SignIn) -> dict[str, str]:
    return side_values(with_sign_in(sign_in), Side.BLUE, bootstrap="b:9098", zone_ids="a=euw1-az1")


def started(
    monkeypatch: pytest.MonkeyPatch, manifests: list[Manifest], name: str, sign_in: SignIn
) -> ApiSettings | ConsoleSettings:
    """Settings as a pod's process reads them, with an issuer."""
    for key, value in (side_settings(sign_in) | plain(manifests, name)).items():
        monkeypatch.setenv(key, value)
    return ApiSettings() if name == "api" else ConsoleSettings()  # type: ignore[call-arg]


@pytest.mark.parametrize("service", SERVICES)
def test_the_load_balancer_finds_the_pods_of_each(manifests: list[Manifest], service: str) -> None:
    binding = named(manifests, "TargetGroupBinding", service)["spec"]
    port = named(manifests, "Service", service)["spec"]["ports"][0]["port"]
    assert binding["serviceRef"] == {"name": service, "port": port}
    assert binding["targetGroupName"].endswith(f"-{service}")
    assert environment(named(manifests, "Deployment", service))["HIFI_HOST"] == "0.0.0.0"


def test_a_release_names_the_groups_and_addresses_that_the_stacks_declare() -> None:
    values = release_values(PRODUCTION, Side.GREEN, service_image="r/service:1", spark_image="r/spark:1")
    names = PRODUCTION.twin(Side.GREEN).names
    assert values["API_TARGET_GROUP"] == names.api_targets
    assert values["CONSOLE_TARGET_GROUP"] == names.console_targets
    assert values["API_URL"] == "https://api.hifi.example.com"
    assert values["CONSOLE_URL"] == "https://console.hifi.example.com"


def test_the_management_api_has_all_settings_that_it_requires(manifests: list[Manifest]) -> None:
    (side,) = [each["data"] for each in of_kind(manifests, "ConfigMap") if "HIFI_SIDE" in each["data"]]
    api = named(manifests, "Deployment", "api")
    assert wanted(ApiSettings) <= side.keys() | environment(api).keys()


def test_the_api_takes_the_tokens_of_the_issuer_for_both_clients(
    monkeypatch: pytest.MonkeyPatch, blue: list[Manifest]
) -> None:
    api = started(monkeypatch, blue, "api", SIGN_IN)
    assert isinstance(api, ApiSettings)
    assert api.oidc_issuer == SIGN_IN.issuer
    assert api.oidc_audiences == ["console", "command-line"]
    assert (api.oidc_tenant_claim, api.oidc_role_claim) == ("org", "role")
    assert api.public_url == "https://api.hifi.test"


def test_the_console_signs_people_in_with_the_issuer_and_asks_the_api_of_its_side(
    monkeypatch: pytest.MonkeyPatch, blue: list[Manifest]
) -> None:
    console = started(monkeypatch, blue, "console", SIGN_IN)
    assert isinstance(console, ConsoleSettings)
    assert console.oidc_issuer == SIGN_IN.issuer
    assert console.oidc_client_id == "console"
    assert console.oidc_redirect == "https://console.hifi.test/sign-in/callback"
    assert console.tls
    api = named(blue, "Service", "api")
    port = api["spec"]["ports"][0]["port"]
    assert console.api == f"http://api.{api['metadata']['namespace']}.svc.cluster.local:{port}"


def test_the_secret_of_the_console_is_in_the_cluster_alone_and_may_be_missing(blue: list[Manifest]) -> None:
    (secret,) = [
        each["valueFrom"]
        for each in container(named(blue, "Deployment", "console"))["env"]
        if each["name"] == "HIFI_OIDC_CLIENT_SECRET"
    ]
    assert secret["secretKeyRef"] == {"name": "console-oidc", "key": "client-secret", "optional": True}
    assert not any("SECRET" in name for name in side_settings(SIGN_IN))


def test_without_an_issuer_no_setting_of_one_is_there(blue: list[Manifest]) -> None:
    values = side_values(PRODUCTION, Side.BLUE, bootstrap="b:9098", zone_ids="a=euw1-az1")
    assert PRODUCTION.management.sign_in is None
    assert not [name for name in values if name.startswith("HIFI_OIDC")]
