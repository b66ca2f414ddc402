"""The brokers of a local side: records survive a kill, topics are created once."""

from collections.abc import Iterable, Mapping
from datetime import timedelta
from pathlib import Path

import pytest
from confluent_kafka import Consumer, KafkaError, Producer
from confluent_kafka.admin import AlterConfigOpType, ConfigEntry, ConfigResource  # type: ignore[attr-defined]

from scripts.local.jars import ensure_jars
from scripts.local.kafka.brokers import prepare
from scripts.local.kafka.cluster import Cluster
from scripts.local.side import Side
from shared.contracts.topics import REPLICAS, Topic, topic_specs
from shared.kafka.admin import AdminError, admin_client, ensure_topics, topic_partitions, wait_for_brokers
from shared.kafka.background_reader import reader_config
from shared.kafka.producer import producer_config
from tests.harness.broker_faults import wait_healthy
from tests.harness.waiting import eventually


def _produce(bootstrap: str, topic: Topic, values: list[bytes]) -> list[KafkaError | None]:
    outcomes: list[KafkaError | None] = []
    producer = Producer(producer_config(bootstrap, "test"))
    for value in values:
        producer.produce(topic, value, on_delivery=lambda error, _: outcomes.append(error))
    assert producer.flush(90) == 0
    return outcomes


def _read(bootstrap: str, topic: Topic, count: int) -> list[bytes]:
    consumer = Consumer(reader_config(bootstrap, "test") | {"enable.partition.eof": False})
    consumer.subscribe([topic])
    try:
        found: list[bytes] = []
        while len(found) < count:
            message = consumer.poll(120)  # the first group creates the groups' topic
            assert message is not None, f"{len(found)} of {count} records"
            if message.error() is None:
                found.append(message.value() or b"")
        return found
    finally:
        consumer.close()


def test_every_topic_has_three_replicas_in_three_zones(brokers: Cluster, topics: str) -> None:
    found = admin_client(topics).list_topics(timeout=60).topics
    assert set(Topic) <= set(found)
    assert all(len(p.replicas) == REPLICAS for t in Topic for p in found[t].partitions.values())


def test_topics_are_made_once_and_grow_but_never_shrink(topics: str) -> None:
    ensure_topics(topics, topic_specs(3))
    ensure_topics(topics, topic_specs(2))
    admin = admin_client(topics)
    eventually(lambda: topic_partitions(admin)[Topic.EVENTS] == 3, what="the broker that is asked knows it")


def test_topics_that_are_there_keep_their_records_for_as_long_as_declared_and_never_for_less(
    topics: str,
) -> None:
    declared = {str(spec.name): spec.retention for spec in topic_specs(1) if spec.retention is not None}
    _retain(topics, {Topic.REPLAYED: timedelta(days=14), Topic.LEDGER: timedelta(days=30)})
    ensure_topics(topics, topic_specs(1))
    found = eventually(
        lambda: (now := _retained(topics, declared))[Topic.REPLAYED] > timedelta(days=14) and now,
        what="the broker that is asked knows it",
    )
    assert found == declared | {Topic.LEDGER: timedelta(days=30)}
    _retain(topics, {Topic.LEDGER: declared[Topic.LEDGER]})


def _retain(bootstrap: str, retentions: Mapping[Topic, timedelta]) -> None:
    changes = [
        ConfigResource(
            ConfigResource.Type.TOPIC,
            str(topic),
            incremental_configs=[
                ConfigEntry(
                    "retention.ms",
                    str(kept // timedelta(milliseconds=1)),
                    incremental_operation=AlterConfigOpType.SET,
                )
            ],
        )
        for topic, kept in retentions.items()
    ]
    admin = admin_client(bootstrap)
    for done in admin.incremental_alter_configs(changes).values():
        done.result(60)
    eventually(
        lambda: _retained(bootstrap, retentions) == retentions, what="the broker that is asked knows it"
    )


def _retained(bootstrap: str, topics: Iterable[str]) -> dict[str, timedelta]:
    asked = [ConfigResource(ConfigResource.Type.TOPIC, str(topic)) for topic in topics]
    admin = admin_client(bootstrap)
    found = admin.describe_configs(asked)
    return {
        each.name: timedelta(milliseconds=int(answer.result(60)["retention.ms"].value))
        for each, answer in found.items()
    }


@pytest.mark.proof  # in `make test` with all brokers of a whole side: tests/integration/test_faults.py
def test_acknowledged_records_survive_the_kill_of_a_broker(brokers: Cluster, topics: str) -> None:
    values = [f"{n}".encode() for n in range(100)]
    assert _produce(topics, Topic.LEDGER, values) == [None] * 100
    brokers.kill(1)
    try:
        assert _produce(topics, Topic.LEDGER, values) == [None] * 100
    finally:
        brokers.start(1)
        wait_healthy(brokers)
    assert sorted(_read(topics, Topic.LEDGER, 200)) == sorted(values * 2)


def test_brokers_that_do_not_answer_are_named() -> None:
    with pytest.raises(AdminError, match=r"0 of 3 brokers answered within 1 s at 127\.0\.0\.1:9"):
        wait_for_brokers("127.0.0.1:9", seconds=1)


def test_a_brokers_log_is_in_its_own_folder_whatever_the_folders_name(tmp_path: Path) -> None:
    side = Side(root=tmp_path / "jürgen \N{PARTY POPPER}" / r"back\u0041\slash")
    side.create()
    prepare(side, ensure_jars(print).broker, (1,))
    assert (side.broker_folder(1) / "log" / "meta.properties").exists()
    assert list(tmp_path.iterdir()) == [side.root.parent]
