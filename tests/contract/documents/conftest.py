"""One management API with its provisioner for all tests of this folder."""

from collections.abc import Iterator
from pathlib import Path

import pytest

from scripts.documents.topic import read_catalogue
from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import topic_specs
from shared.kafka.admin import ensure_topics
from shared.kafka.config_topic import publish
from tests.contract.managed import managed
from tests.harness.command_line import Hifi


@pytest.fixture(scope="package")
def management(
    brokers: Cluster, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[dict[str, str]]:
    """Real brokers, a table, its provisioner and the management API; gives the settings of `hifi`."""
    bootstrap = brokers.bootstrap
    ensure_topics(bootstrap, topic_specs(brokers.side.partitions))
    before = read_catalogue(bootstrap).entries.keys()
    with managed(bootstrap, dynamodb_local, tmp_path_factory.mktemp("management")) as settings:
        yield settings
    left = read_catalogue(bootstrap).entries.keys() - before
    publish(bootstrap, "test", dict.fromkeys(left), seconds=120)  # other tests use the same brokers


@pytest.fixture
def hifi(management: dict[str, str], tmp_path: Path) -> Hifi:
    """The `hifi` command with a management API."""
    return Hifi(tmp_path, management)
