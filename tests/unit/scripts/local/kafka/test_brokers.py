"""Configuration of the brokers."""

from pathlib import Path

import pytest

from scripts.local.addresses import BROKER_IDS
from scripts.local.kafka.brokers import properties
from scripts.local.side import Side


def _all(tmp_path: Path) -> list[dict[str, str]]:
    return [properties(Side(root=tmp_path), broker) for broker in BROKER_IDS]


def test_each_broker_stands_in_a_zone_of_its_own(tmp_path: Path) -> None:
    assert [found["broker.rack"] for found in _all(tmp_path)] == ["zone-a", "zone-b", "zone-c"]


def test_nothing_listens_beyond_the_loopback_address(tmp_path: Path) -> None:
    listeners = ",".join(found["listeners"] for found in _all(tmp_path)).split(",")
    assert all(listener.split("://")[1].startswith("127.0.0.1:") for listener in listeners)


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("unclean.leader.election.enable", "false"),
        ("auto.create.topics.enable", "false"),
        ("default.replication.factor", "3"),
        ("min.insync.replicas", "2"),
        ("offsets.topic.replication.factor", "3"),
        ("offsets.retention.minutes", str(22 * 24 * 60)),  # a week longer than any record of a group
    ],
)
def test_the_settings_against_loss_are_set(tmp_path: Path, name: str, value: str) -> None:
    assert [found[name] for found in _all(tmp_path)] == [value] * 3
