"""Offsets of a partition are requested while its leader moves from broker to broker."""

from collections.abc import Iterator
from contextlib import closing

import pytest
from confluent_kafka import Consumer, ElectionType, KafkaException, TopicPartition

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from tests.conftest import delete_up_to
from tests.harness.broker_faults import wait_healthy
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

PLACE = TopicPartition(Topic.LEDGER, 0)


@pytest.fixture
def consumer(topics: str) -> Iterator[Consumer]:
    """A consumer that knows the ledger's present leader; the ledger holds three records."""
    side = Topics(topics)
    for value in (b"a", b"b", b"c"):
        side.put(Topic.LEDGER, value, [], None)
    side.flush()
    with closing(Consumer(reader_config(topics, "test"))) as made:
        yield made


def leader(bootstrap: str) -> int:
    """The broker that leads the ledger's partition; 0 or less if there is none."""
    found = admin_client(bootstrap).list_topics(Topic.LEDGER, timeout=60).topics[Topic.LEDGER]
    return int(found.partitions[0].leader)


@pytest.mark.proof
def test_a_leader_that_moves_is_followed(topics: str, brokers: Cluster, consumer: Consumer) -> None:
    before = retained_offsets(consumer, PLACE, seconds=60)
    first = leader(topics)
    brokers.kill(first)
    try:
        assert retained_offsets(consumer, PLACE, seconds=60) == before
    finally:
        brokers.start(first)
        wait_healthy(brokers)
    # The consumer still takes the second broker for the leader, which answers that it is not.
    admin = admin_client(topics)
    admin.elect_leaders(ElectionType.PREFERRED, [PLACE]).result()
    eventually(lambda: leader(topics) == first)
    assert retained_offsets(consumer, PLACE, seconds=60) == before
    assert before.end - before.first == 3


def test_a_broker_that_answers_nothing_is_an_error_in_time() -> None:
    with (
        closing(Consumer(reader_config("127.0.0.1:9", "test"))) as alone,
        pytest.raises(KafkaException),
    ):
        retained_offsets(alone, PLACE, seconds=1)


def test_an_unknown_topic_is_refused_at_once(topics: str) -> None:
    with closing(Consumer(reader_config(topics, "test"))) as consumer, pytest.raises(KafkaException):
        retained_offsets(consumer, TopicPartition("no-such-topic", 0), seconds=5)


def test_a_deleted_start_is_known(topics: str, consumer: Consumer) -> None:
    held = retained_offsets(consumer, PLACE, seconds=60)
    delete_up_to(topics, [TopicPartition(Topic.LEDGER, 0, held.end - 1)])
    eventually(
        lambda: retained_offsets(consumer, PLACE, seconds=60) == RetainedOffsets(held.end - 1, held.end)
    )
