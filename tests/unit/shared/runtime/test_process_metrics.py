"""The version that a process reports: an image holds the code without its package."""

from importlib.metadata import version
from typing import Any

import pytest

from shared.contracts.heartbeats import decode
from shared.kafka.heartbeat_writer import HeartbeatWriter
from shared.runtime.metrics import ProcessMetric
from shared.runtime.process_metrics import process_registry

RELEASED = "412.1-3f2a9c1d0"


def reported() -> str:
    """The version in the metrics of a process that starts now."""
    (build,) = [each for each in process_registry("collect").collect() if each.name == ProcessMetric.BUILD]
    (sample,) = build.samples
    return sample.labels["version"]


def test_a_process_reports_the_version_that_its_image_names(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIFI_VERSION", RELEASED)
    assert reported() == RELEASED


def test_a_heartbeat_reports_it_too(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("HIFI_VERSION", RELEASED)
    builds = []

    class Client:
        def poll(self, _seconds: float) -> int:
            return 0

        def produce(self, _topic: str, value: bytes, _key: str) -> None:
            builds.append(decode(value).build)

    def client(_config: dict[str, Any]) -> Any:
        return Client()

    writer = HeartbeatWriter(
        "none:1", node="collect", instance="a", clock=lambda: 0, monotonic=lambda: 0, make_client=client
    )
    writer.beat(1)
    assert builds == [RELEASED]


@pytest.mark.parametrize("named", [None, ""])
def test_without_a_name_a_process_reports_the_packages_version(
    monkeypatch: pytest.MonkeyPatch, named: str | None
) -> None:
    monkeypatch.delenv("HIFI_VERSION", raising=False)
    if named is not None:
        monkeypatch.setenv("HIFI_VERSION", named)
    assert reported() == version("hifi")
