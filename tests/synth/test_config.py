import shutil
from collections.abc import Callable
from pathlib import Path

import pytest
import yaml

from infra.config import (
    EnvironmentName,
    InvalidSettingsError,
    RunSettings,
    load_environment,
    load_run,
)
from infra.naming import Side

FILES = Path(__file__).parents[2] / "infra" / "environments"
PRODUCTION = RunSettings(environment=EnvironmentName.PRODUCTION)
Refusal = Callable[..., str]


@pytest.fixture
def refusal(tmp_path: Path) -> Refusal:
    """A function that returns the error of production's settings with one field, `part.field`, changed."""

    def refuse(field: str, value: object) -> str:
        settings = yaml.safe_load((FILES / "production.yaml").read_text())
        *parts, last = field.split(".")
        section = settings
        for part in parts:
            section = section[part]
        section[last] = value
        (tmp_path / "production.yaml").write_text(yaml.safe_dump(settings))
        with pytest.raises(InvalidSettingsError) as refused:
            load_environment(PRODUCTION, folder=tmp_path)
        return str(refused.value)

    return refuse


@pytest.mark.parametrize(
    ("field", "value", "fix"),
    [
        ("account", "12345", "Twelve digits"),
        ("region", "Ireland", "match"),
        ("domain", "no_domain", "events go to"),
        ("repository", "only-a-name", "match"),
        ("cidrs.blue", "10.20.0.0/33", "IPv4"),
        ("network.nat_gateways", 2, "1 or 3"),
        ("kafka.brokers", 4, "multiple of 3"),
        ("kafka.brokers", 0, "3"),
        ("kafka.volume_limit_gib", 1, "never shrinks"),
        ("kafka.version", "latest", "match"),
        ("management.client_ranges", [], "at least 1"),
        ("management.exposure", "internal", "ranges of connected networks"),
        ("management.sign_in", {"issuer": "http://login.example.com", "console_client": "c"}, "match"),
        ("management.sign_in", {"issuer": "https://login.example.com"}, "console_client: Field required"),
        ("cluster.version", "latest", "match"),
        ("cluster.public_access", ["0.0.0.0/0"], "name your own ranges"),
        ("cluster.administrators", [], "whoever deploys first"),
        ("cluster.administrators", ["me"], "match"),
        ("cluster.workers.minimum", 99, "above maximum"),
        ("cluster.workers.instance_types", ["c7g.xlarge"] * 7, "name 8 or more"),
        ("cluster.node_release", "1.34.1-20260101", "make outdated"),
        ("cluster.addons.kube_proxy", "v1.34.0-eksbuild.4", "make outdated"),
        ("cluster.addons.coredns", "latest", "match"),
        ("exposure", "everywhere", "internet"),
        ("network.client_ranges", [], "at least 1"),
        ("cluster.workers.instance_types", [], "at least 1"),
        ("budget.monthly_usd", 0, "greater than 0"),
        ("budget.subscribers", [], "at least 1"),
    ],
)
def test_a_wrong_field_is_named_with_its_fix(refusal: Refusal, field: str, value: object, fix: str) -> None:
    said = refusal(field, value)
    assert said.startswith("production.yaml: ")
    assert field.rsplit(".", maxsplit=1)[-1] in said
    assert fix in said


def test_a_misspelt_field_is_named(refusal: Refusal) -> None:
    assert "kafka.broker: Extra inputs" in refusal("kafka.broker", 3)


def test_ranges_of_the_sides_must_be_apart(refusal: Refusal) -> None:
    assert "overlap" in refusal("cidrs.green", "10.20.128.0/17")


def test_a_side_without_a_range_is_refused(refusal: Refusal) -> None:
    assert "one for green" in refusal("cidrs", {"blue": "10.20.0.0/16"})


def test_public_clients_of_an_internal_side_are_refused(refusal: Refusal) -> None:
    assert "network.client_ranges: has public ranges" in refusal("exposure", "internal")


def test_local_needs_no_administrator(tmp_path: Path) -> None:
    settings = yaml.safe_load((FILES / "local.yaml").read_text())
    settings["cluster"]["administrators"] = []
    (tmp_path / "local.yaml").write_text(yaml.safe_dump(settings))
    assert load_environment(RunSettings(), folder=tmp_path).cluster.administrators == []


def test_a_missing_field_is_named(tmp_path: Path) -> None:
    (tmp_path / "production.yaml").write_text("region: eu-west-1\n")
    with pytest.raises(InvalidSettingsError, match=r"production\.yaml: account: Field required"):
        load_environment(PRODUCTION, folder=tmp_path)


@pytest.mark.parametrize("text", ["", "- a list", "a: [", "just words"])
def test_a_file_that_holds_no_fields_is_refused(tmp_path: Path, text: str) -> None:
    (tmp_path / "production.yaml").write_text(text)
    with pytest.raises(InvalidSettingsError, match=r"production\.yaml"):
        load_environment(PRODUCTION, folder=tmp_path)


@pytest.mark.parametrize(
    ("variable", "value"), [("HIFI_ENVIRONMENT", "prod"), ("HIFI_AWS_ENDPOINT", "localhost:4566")]
)
def test_a_wrong_variable_is_named(monkeypatch: pytest.MonkeyPatch, variable: str, value: str) -> None:
    monkeypatch.setenv(variable, value)
    with pytest.raises(InvalidSettingsError, match=variable):
        load_run()


@pytest.mark.parametrize("name", EnvironmentName)
def test_every_environment_is_whole(name: EnvironmentName) -> None:
    environment = load_environment(RunSettings(environment=name))
    assert environment.name is name
    assert {str(environment.twin(side).cidr) for side in Side} == {"10.20.0.0/16", "10.21.0.0/16"}


def test_only_local_has_an_endpoint_and_keeps_its_state_here() -> None:
    environments = [load_environment(RunSettings(environment=name)) for name in EnvironmentName]
    assert [each.name for each in environments if each.endpoint] == [EnvironmentName.LOCAL]
    assert [each.name for each in environments if each.state_folder] == [EnvironmentName.LOCAL]


def test_names_keep_to_the_limits_of_aws() -> None:
    for name in EnvironmentName:
        environment = load_environment(RunSettings(environment=name))
        assert all(len(environment.twin(side).names.load_balancer) <= 32 for side in Side)
        assert len(environment.names.bucket("access-logs")) <= 63


def test_copies_of_the_files_are_read_from_anywhere(tmp_path: Path) -> None:
    shutil.copytree(FILES, tmp_path, dirs_exist_ok=True)
    assert load_environment(PRODUCTION, folder=tmp_path) == load_environment(PRODUCTION)


def test_aliases_that_multiply_are_refused_with_their_line(tmp_path: Path) -> None:
    repeated = (f"a{n}: &a{n} {{<<: [{', '.join([f'*a{n - 1}'] * 10)}]}}" for n in range(1, 7))
    (tmp_path / "production.yaml").write_text("\n".join(["a0: &a0 {b: c}", *repeated]))
    with pytest.raises(InvalidSettingsError, match=r"production\.yaml, line 6: aliases repeat more than"):
        load_environment(PRODUCTION, folder=tmp_path)
