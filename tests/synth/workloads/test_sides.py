"""Both sides differ only in names; a release writes values into an overlay."""

from pathlib import Path

import pytest
import yaml

from infra.config import EnvironmentName, InvalidSettingsError, RunSettings, load_environment
from infra.naming import Side
from infra.workloads import values
from tests.synth.workloads.manifests import Manifest, container, named

DIGEST = "sha256:" + "0" * 64
_ZONES = "--zone-ids=eu-west-1a=euw1-az3,eu-west-1b=euw1-az1"
PRODUCTION = load_environment(RunSettings(environment=EnvironmentName.PRODUCTION))


def test_the_sides_differ_in_name_network_and_brokers_alone(
    blue: list[Manifest], green: list[Manifest]
) -> None:
    environment = load_environment(RunSettings())
    ranges = {side: str(environment.twin(side).cidr) for side in Side}

    def as_text(manifests: list[Manifest], side: Side) -> str:
        config = next(
            each["metadata"]["name"] for each in manifests if each["metadata"]["name"].startswith("side-")
        )
        # The dashboard has colours with these names.
        of_sides = [each for each in manifests if each["metadata"]["name"] != "dashboard"]
        text = yaml.safe_dump(of_sides, sort_keys=True)
        return text.replace(config, "side").replace(ranges[side], "NETWORK").replace(side.value, "SIDE")

    assert as_text(blue, Side.BLUE) == as_text(green, Side.GREEN)
    assert named(blue, "ConfigMap", "dashboard") == named(green, "ConfigMap", "dashboard")
    assert blue != green


def test_images_and_target_group_are_the_releases(blue: list[Manifest], green: list[Manifest]) -> None:
    for side, manifests in ((Side.BLUE, blue), (Side.GREEN, green)):
        names = load_environment(RunSettings()).twin(side).names
        binding = named(manifests, "TargetGroupBinding", "collect")
        assert binding["spec"] == {
            "targetGroupName": names.load_balancer,
            "targetType": "ip",
            "serviceRef": {
                "name": "collect",
                "port": named(manifests, "Service", "collect")["spec"]["ports"][0]["port"],
            },
        }
        assert container(named(manifests, "Deployment", "collect"))["image"] == "hifi/service:dev"
        assert container(named(manifests, "StatefulSet", "spark-master"))["image"] == "hifi/spark:dev"


@pytest.mark.parametrize("side", list(Side))
def test_what_is_committed_is_local(side: Side) -> None:
    environment = load_environment(RunSettings())
    committed = dict(
        line.split("=", 1) for line in (values.OVERLAYS / side / "side.env").read_text().splitlines()
    )
    assert committed == values.side_values(
        environment, side, bootstrap=committed["KAFKA_BROKERS"], zone_ids=committed["HIFI_ZONE_IDS"]
    )
    assert ".invalid:" in committed["HIFI_BOOTSTRAP"]


def test_a_release_writes_the_facts_of_its_environment_and_side(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "OVERLAYS", tmp_path)
    monkeypatch.setenv("HIFI_ENVIRONMENT", "production")
    (tmp_path / "green").mkdir()
    images = [f"--{name}-image=registry.example/hifi/{name}@{DIGEST}" for name in ("service", "spark")]
    assert values.main(["green", "--bootstrap=b-1.kafka:9098,b-2.kafka:9098", _ZONES, *images]) == 0
    side, release = ((tmp_path / "green" / name).read_text() for name in ("side.env", "release.env"))
    assert "HIFI_SIDE=green\n" in side
    assert "HIFI_ZONE_IDS=eu-west-1a=euw1-az3,eu-west-1b=euw1-az1\n" in side
    assert f"HIFI_CHECKPOINTS=s3a://{PRODUCTION.names.bucket('checkpoints')}/green\n" in side
    assert f"SPARK_IMAGE=registry.example/hifi/spark@{DIGEST}\n" in release
    assert "TARGET_GROUP=hifi-production-green-collect\n" in release
    assert f"NETWORK={PRODUCTION.cidrs[Side.GREEN]}\n" in release


def test_what_a_person_set_for_an_environment_reaches_its_processes_at_each_release(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(values, "OVERLAYS", tmp_path)
    monkeypatch.setattr(values, "SETTINGS", tmp_path)
    monkeypatch.setenv("HIFI_ENVIRONMENT", "production")
    (tmp_path / "green").mkdir()
    (tmp_path / "production.env").write_text("# spans\nHIFI_OTLP_ENDPOINT=https://spans.example/?a=b\n\n")
    arguments = [
        "green",
        "--bootstrap=b-1.kafka:9098",
        _ZONES,
        "--service-image=r/s:1",
        "--spark-image=r/p:1",
    ]
    for _ in range(2):
        assert values.main(arguments) == 0
        written = (tmp_path / "green" / "side.env").read_text()
        assert "HIFI_OTLP_ENDPOINT=https://spans.example/?a=b\n" in written


@pytest.mark.parametrize(
    ("text", "named"), [("HIFI_SIDE=blue\n", "HIFI_SIDE"), ("A=1\nhifi_side: blue\n", "production.env:2")]
)
def test_a_setting_that_is_not_a_persons_to_make_is_refused_by_name(
    text: str, named: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, capsys: pytest.CaptureFixture[str]
) -> None:
    monkeypatch.setattr(values, "SETTINGS", tmp_path)
    monkeypatch.setenv("HIFI_ENVIRONMENT", "production")
    (tmp_path / "production.env").write_text(text)
    arguments = [
        "green",
        "--bootstrap=b-1.kafka:9098",
        _ZONES,
        "--service-image=r/s:1",
        "--spark-image=r/p:1",
    ]
    assert values.main(arguments) == 1
    assert named in capsys.readouterr().err


@pytest.mark.parametrize("bootstrap", ["", "broker", "broker:9098,", "broker:9098 other:9098"])
def test_brokers_that_are_none_are_refused_by_name(bootstrap: str) -> None:
    with pytest.raises(InvalidSettingsError, match=r"bootstrap:.*host:port"):
        values.side_values(PRODUCTION, Side.BLUE, bootstrap=bootstrap, zone_ids="eu-west-1a=euw1-az1")


@pytest.mark.parametrize("zone_ids", ["", "eu-west-1a", "eu-west-1a=euw1-az1,", "eu-west-1a=eu-west-1a"])
def test_zones_without_ids_are_refused_by_name(zone_ids: str) -> None:
    with pytest.raises(InvalidSettingsError, match=r"zone_ids:.*name=id"):
        values.side_values(PRODUCTION, Side.BLUE, bootstrap="b:9098", zone_ids=zone_ids)


def test_an_image_without_a_version_is_refused_by_name() -> None:
    with pytest.raises(InvalidSettingsError, match=r"spark_image:.*digest"):
        values.release_values(
            PRODUCTION, Side.BLUE, service_image=f"r/service@{DIGEST}", spark_image="r/spark"
        )
