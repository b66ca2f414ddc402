"""collect is ready only when it can serve traffic."""

import json
from collections.abc import Iterator
from pathlib import Path

import pytest

from shared.contracts.documents import Source
from shared.contracts.publish_plan import COMPLETE
from shared.contracts.topics import Topic, topic_specs
from shared.kafka import config_topic
from tests.contract.collect.conftest import publish
from tests.contract.collect.process import KEY, CollectProcess, encoded, event
from tests.harness.lone_broker import create_topics, lone_broker
from tests.harness.waiting import eventually


@pytest.fixture
def unconfigured(tmp_path: Path) -> Iterator[str]:
    """A broker with all topics except `config`."""
    with lone_broker(tmp_path) as address:
        create_topics(address, [spec for spec in topic_specs(1) if spec.name != Topic.CONFIG])
        yield address


def test_brokers_that_answer_are_not_enough_without_the_configuration(
    unconfigured: str, tmp_path: Path
) -> None:
    """collect refuses no key before it knows all keys: a topic may hold only the first part of them."""
    process = CollectProcess(unconfigured, tmp_path / "log")
    try:
        eventually(lambda: _report(process).get("kafka") is True, 120)
        assert _report(process) == {"ready": False, "config": False, "kafka": True}
        assert process.request("GET", "/readyz").status == 503
        assert process.post(encoded(event())).status == 503
        create_topics(unconfigured, [spec for spec in topic_specs(1) if spec.name == Topic.CONFIG])
        publish(unconfigured, Source(name="players", tenant="acme", write_keys=[KEY]))
        eventually(lambda: "topic lacks a part" in (tmp_path / "log").read_text(), 120)
        assert _report(process) == {"ready": False, "config": False, "kafka": True}
        assert process.post(encoded(event())).status == 503
        config_topic.publish(unconfigured, "test", COMPLETE, seconds=120)
        eventually(lambda: process.post(encoded(event())).status == 202, 120)
        assert _report(process) == {"ready": True, "config": True, "kafka": True}
    finally:
        process.kill()


def _report(process: CollectProcess) -> dict[str, bool]:
    try:
        found: dict[str, bool] = json.loads(process.request("GET", "/readyz").text)
    except OSError:
        return {}
    return found
