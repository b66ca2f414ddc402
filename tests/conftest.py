"""Fixtures every kind of test may use. What they start they end."""

import time
from collections.abc import Iterator

import pytest
from confluent_kafka import OFFSET_END, KafkaError, KafkaException, TopicPartition
from confluent_kafka.admin import AdminClient
from hypothesis import settings

from scripts.local.cluster import Cluster
from scripts.local.jars import ensure_jars
from scripts.local.side import Side, free_base
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import admin_client, ensure_topics

# A busy machine is slow, not wrong: laws are not judged by the clock.
settings.register_profile("hifi", deadline=None)
settings.load_profile("hifi")


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three real brokers on free ports, without topics: `bootstrap`, `kill(n)`, `start(n)`, `wait_healthy()`.

    A test that kills one starts it again and waits until the cluster is healthy.
    """
    side = Side(root=tmp_path_factory.mktemp("brokers"), port=free_base(), partitions=2)
    with Cluster(side, ensure_jars(print).broker) as cluster:
        yield cluster


@pytest.fixture
def topics(brokers: Cluster) -> str:
    """All of hifi's topics, emptied (`config` keeps its documents). Gives the bootstrap servers."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    delete_records(brokers.bootstrap)
    return brokers.bootstrap


def delete_records(bootstrap: str, seconds: float = 30.0) -> None:
    """Empty every topic but `config`: Kafka truncates no compacted topic."""
    admin = admin_client(bootstrap)
    deadline = time.monotonic() + seconds
    while not set(Topic) <= (found := admin.list_topics(timeout=10).topics).keys():
        assert time.monotonic() < deadline, "a broker does not know all topics"  # made a moment ago
        time.sleep(0.2)
    upto = [TopicPartition(t, p, OFFSET_END) for t in Topic if t != Topic.CONFIG for p in found[t].partitions]
    while not _deleted(admin, upto):
        assert time.monotonic() < deadline, "topics cannot be emptied"
        time.sleep(0.2)
        admin = admin_client(bootstrap)  # one that asked for the leaders before goes on with its answer


def _deleted(admin: AdminClient, upto: list[TopicPartition]) -> bool:
    """False where a broker does not know yet that it leads a partition made a moment ago."""
    try:
        for future in admin.delete_records(upto).values():
            future.result()
    except KafkaException as error:
        if error.args[0].retriable() or error.args[0].code() == KafkaError.NOT_LEADER_FOR_PARTITION:
            return False
        raise
    return True
