"""A consumer with a known zone fetches from the replica there, without traffic between zones."""

import json
from collections import Counter
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition

from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

pytestmark = pytest.mark.proof

TOPIC = Topic.RETRY_IN_1H
"""Has one partition, so that its leader is one broker."""

ROUNDS, RECORDS = 5, 20


class Reader:
    """A consumer of the topic's new records, and librdkafka's statistics of its requests."""

    def __init__(self, bootstrap: str) -> None:
        self._fetches: Counter[int] = Counter()
        config = reader_config(bootstrap, "zone") | {
            "statistics.interval.ms": 100,
            "stats_cb": self._take,
            "enable.partition.eof": False,
            "fetch.wait.max.ms": 100,
        }
        self._consumer = Consumer(config)
        _, end = self._consumer.get_watermark_offsets(TopicPartition(TOPIC, 0), timeout=10)
        self._consumer.assign([TopicPartition(TOPIC, 0, end)])

    def _take(self, text: str) -> None:
        brokers: dict[str, Any] = json.loads(text)["brokers"]
        found = {each["nodeid"]: each["req"].get("Fetch", 0) for each in brokers.values()}
        self._fetches = Counter({node: count for node, count in found.items() if node > 0})

    def read(self, count: int) -> int:
        """Wait for records; returns how many came."""
        found = 0
        while found < count:
            message = self._consumer.poll(10)
            assert message is not None, f"{found} of {count} records"
            assert message.error() is None
            found += 1
        return found

    def fetches(self) -> Counter[int]:
        """Fetch requests so far, by broker."""
        self._consumer.poll(0.3)
        return self._fetches

    def close(self) -> None:
        self._consumer.close()


def _replicas(bootstrap: str) -> tuple[int, int]:
    """The leader, and another broker with a replica."""
    partition = admin_client(bootstrap).list_topics(TOPIC, timeout=10).topics[TOPIC].partitions[0]
    return partition.leader, next(each for each in partition.replicas if each != partition.leader)


def _fetched(bootstrap: str, settle: int) -> Counter[int]:
    """Fetches by broker while records arrive, after `settle` rounds."""
    records, reader = Topics(bootstrap), Reader(bootstrap)
    before: Counter[int] = Counter()
    try:
        for number in range(settle + ROUNDS):
            if number == settle:
                before = reader.fetches()
            for record in range(RECORDS):
                records.put(TOPIC, b"%d" % record, [], None)
            records.flush()
            assert reader.read(RECORDS) == RECORDS
        return reader.fetches() - before
    finally:
        reader.close()


def test_a_reader_in_a_followers_zone_fetches_from_the_follower(
    topics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    leader, follower = _replicas(topics)
    monkeypatch.setenv("HIFI_CLIENT_RACK", f"zone-{'abc'[follower - 1]}")
    found = _fetched(topics, settle=2)
    assert found[follower] > 0
    assert found[leader] == 0


def test_a_reader_that_does_not_know_its_zone_fetches_from_the_leader(
    topics: str, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.delenv("HIFI_CLIENT_RACK", raising=False)
    eventually(lambda: _replicas(topics)[0] > 0, 30)
    found = _fetched(topics, settle=0)
    assert set(+found) == {_replicas(topics)[0]}
