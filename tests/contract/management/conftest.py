"""API processes over DynamoDB Local."""

from collections.abc import Iterator

import pytest

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import topic_specs
from shared.kafka.admin import ensure_topics
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.scripted_observe import scripted_observe


@pytest.fixture(scope="module")
def api(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """One process for the tests of a module, which use tenants of their own."""
    with running_api(tmp_path_factory.mktemp("api"), dynamodb_local) as process:
        yield process


@pytest.fixture(scope="module")
def side_api(
    brokers: Cluster, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[ApiProcess]:
    """The same with the brokers of its side, and an observe that answers whatever it is asked."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    folder = tmp_path_factory.mktemp("api")
    with (
        scripted_observe() as observe,
        running_api(folder, dynamodb_local, bootstrap=brokers.bootstrap, observe_url=observe.url) as process,
    ):
        yield process
