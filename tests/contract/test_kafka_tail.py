"""The tail of a topic, and its new records, on real brokers."""

import time
import uuid
from collections.abc import Iterator
from contextlib import contextmanager
from typing import cast

import pytest
from confluent_kafka import Message, Producer
from confluent_kafka.cimpl import NewPartitions, NewTopic

from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import Topic
from shared.kafka import partition_watch
from shared.kafka import tail as kafka_tail
from shared.kafka.admin import admin_client
from shared.kafka.new_records import NewRecords
from shared.kafka.producer import producer_config
from shared.kafka.tail import Tail
from tests.harness.waiting import eventually

HOUR_MS = 3_600_000


@pytest.fixture
def topic(brokers: Cluster) -> Topic:
    """A topic for one test, as brokers remember the newest timestamp even of deleted records."""
    name = f"tail-{uuid.uuid4()}"
    admin = admin_client(brokers.bootstrap)
    (created,) = admin.create_topics([NewTopic(name, 2, 3)]).values()
    created.result(60)
    return cast(Topic, name)


@contextmanager
def tail(bootstrap: str, topic: Topic, window_ms: int) -> Iterator[tuple[Tail, list[bytes | None]]]:
    taken: list[bytes | None] = []

    def take(messages: list[Message]) -> None:
        taken.extend(message.value() for message in messages)

    reader = Tail(bootstrap=bootstrap, client_id="test", topic=topic, window_ms=window_ms, take=take).start()
    try:
        yield reader, taken
    finally:
        reader.stop()


@contextmanager
def new_records(bootstrap: str, topic: Topic) -> Iterator[tuple[NewRecords, list[bytes]]]:
    taken: list[bytes] = []

    def take(messages: list[Message]) -> None:
        taken.extend(message.value() or b"" for message in messages)

    def skipped() -> None:
        taken.append(b"skipped")

    reader = NewRecords(
        bootstrap=bootstrap, client_id="test", topic=topic, take=take, skipped=skipped
    ).start()
    try:
        yield reader, taken
    finally:
        reader.stop()


def write(bootstrap: str, topic: Topic, *values: bytes, timestamp: int = 0, partition: int = -1) -> None:
    producer = Producer(producer_config(bootstrap, "test"))
    for value in values:
        producer.produce(topic, value, timestamp=timestamp, partition=partition)
    assert producer.flush(60) == 0


def partitions(client: Producer, topic: Topic) -> int:
    """Number of partitions that a broker knows, and that the client knows from then on."""
    return len(client.list_topics(topic, timeout=60).topics[topic].partitions)


def test_empty_topic_is_loaded_at_once(brokers: Cluster, topic: Topic) -> None:
    with tail(brokers.bootstrap, topic, 1000) as (reader, taken):
        assert reader.wait(60)
        assert reader.catch_up(60)
        assert taken == []


@pytest.fixture
def quick_watch(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for new partitions every second."""
    monkeypatch.setattr(partition_watch, "_LOOK_SECONDS", 1.0)


def add_a_partition(bootstrap: str, topic: Topic) -> Producer:
    """Add a third partition; returns a producer that knows it."""
    admin = admin_client(bootstrap)  # keep a reference until it has answered
    admin.create_partitions([NewPartitions(topic, 3)])[topic].result(60)
    producer = Producer(producer_config(bootstrap, "test"))
    eventually(lambda: partitions(producer, topic) == 3, 60, "the third partition", every=0.1)
    return producer


@pytest.mark.usefixtures("quick_watch")
def test_partitions_that_a_topic_gets_are_read_too(brokers: Cluster, topic: Topic) -> None:
    with tail(brokers.bootstrap, topic, HOUR_MS) as (reader, taken):
        assert reader.wait(60)
        producer = add_a_partition(brokers.bootstrap, topic)
        producer.produce(topic, b"new", partition=2)
        assert producer.flush(60) == 0
        eventually(lambda: b"new" in taken, 60, "the new partition is read", every=0.1)
        assert reader.catch_up(60)


@pytest.mark.usefixtures("quick_watch")
def test_new_records_are_also_those_of_partitions_that_a_topic_gets(brokers: Cluster, topic: Topic) -> None:
    write(brokers.bootstrap, topic, *(b"before-%d" % n for n in range(20)))
    with new_records(brokers.bootstrap, topic) as (reader, taken):
        assert reader.wait(60)
        producer = add_a_partition(brokers.bootstrap, topic)
        expected = [b"%d-%d" % (partition, n) for partition in range(3) for n in range(5)]
        for each in expected[5:]:  # nothing in the first: it has no position when the third one is added
            producer.produce(topic, each, partition=int(each[:1]))
        assert producer.flush(60) == 0
        eventually(lambda: b"2-0" in taken, 60, "the new partition is read", every=0.1)
        for each in expected[:5]:
            producer.produce(topic, each, partition=0)
        assert producer.flush(60) == 0
        eventually(lambda: len(taken) >= len(expected), 60, "the others are read on", every=0.1)
    assert sorted(taken) == expected, "each once, and none from before"


def test_window_counts_back_from_the_newest_record_not_from_now(brokers: Cluster, topic: Topic) -> None:
    long_ago = int(time.time() * 1000) - 5 * HOUR_MS
    write(brokers.bootstrap, topic, *(b"old-%d" % n for n in range(20)), timestamp=long_ago - 200_000)
    write(brokers.bootstrap, topic, *(b"new-%d" % n for n in range(20)), timestamp=long_ago)
    with tail(brokers.bootstrap, topic, 180_000) as (reader, taken):
        assert reader.wait(60)
        assert set(taken) == {b"new-%d" % n for n in range(20)}


def test_caught_up_means_that_everything_acknowledged_before_was_taken(
    brokers: Cluster, topic: Topic
) -> None:
    producer = Producer(producer_config(brokers.bootstrap, "test"))
    with tail(brokers.bootstrap, topic, 60_000) as (reader, taken):
        assert reader.wait(60)
        for n in range(20):
            producer.produce(topic, b"%d" % n)
            assert producer.flush(60) == 0
            assert reader.catch_up(60)
            assert b"%d" % n in taken


@pytest.mark.parametrize("count", [3, 30], ids=["fewer", "more than it had"])
def test_records_of_a_topic_that_was_made_again_are_taken(brokers: Cluster, topic: Topic, count: int) -> None:
    with tail(brokers.bootstrap, topic, HOUR_MS) as (reader, taken):
        assert reader.wait(60)
        write(brokers.bootstrap, topic, *(b"old-%d" % n for n in range(10)), partition=0)
        assert reader.catch_up(60)
        admin = admin_client(brokers.bootstrap)
        admin.delete_topics([topic])[topic].result(60)
        admin.create_topics([NewTopic(topic, 2, 3)])[topic].result(60)
        new = [b"new-%d" % n for n in range(count)]
        write(brokers.bootstrap, topic, *new, partition=0)
        assert reader.catch_up(60)
        assert set(new) <= set(taken)


def test_unavailable_brokers_are_reported_not_raised(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(kafka_tail, "_TRY_SECONDS", 1.0)  # a stop waits for the last of them
    with tail("127.0.0.1:1", Topic.RECEIPTS, 1000) as (reader, _):
        assert not reader.catch_up(0.5)
        assert not reader.wait(0.1)
