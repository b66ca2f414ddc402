"""Fixtures every kind of test may use. What they start they end."""

from collections.abc import Iterator

import pytest
from confluent_kafka import OFFSET_END, TopicPartition

from scripts.local.cluster import Cluster
from scripts.local.jars import ensure_jars
from scripts.local.side import Side, free_base
from shared.contracts.topics import Topic, topic_specs
from shared.kafka.admin import admin_client, ensure_topics


@pytest.fixture(scope="session")
def brokers(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Cluster]:
    """Three real brokers on free ports, without topics: `bootstrap`, `kill(n)`, `start(n)`, `wait_healthy()`.

    A test that kills one starts it again and waits until the cluster is healthy.
    """
    side = Side(root=tmp_path_factory.mktemp("brokers"), port=free_base())
    with Cluster(side, ensure_jars(print).broker) as cluster:
        yield cluster


@pytest.fixture
def topics(brokers: Cluster) -> str:
    """All of hifi's topics, emptied (`config` keeps its documents). Gives the bootstrap servers."""
    ensure_topics(brokers.bootstrap, topic_specs(brokers.side.partitions))
    delete_records(brokers.bootstrap)
    return brokers.bootstrap


def delete_records(bootstrap: str) -> None:
    """Empty every topic but `config`: Kafka truncates no compacted topic."""
    admin = admin_client(bootstrap)
    found = admin.list_topics(timeout=10).topics
    upto = [TopicPartition(t, p, OFFSET_END) for t in Topic if t != Topic.CONFIG for p in found[t].partitions]
    for future in admin.delete_records(upto).values():
        future.result()
