"""The global table of a compacted topic, on real brokers."""

import threading
import time
import uuid
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from typing import cast

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Producer, TopicPartition
from confluent_kafka.cimpl import NewTopic

from scripts.local.addresses import BROKER_IDS
from scripts.local.kafka.cluster import Cluster
from shared.contracts.topics import Topic
from shared.kafka import global_table, recreation_watch
from shared.kafka.admin import admin_client
from shared.kafka.global_table import ExactTable, GlobalTable
from shared.kafka.producer import producer_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets
from shared.kafka.topic_end import TopicEnd
from tests.harness.broker_faults import kill_all, wait_healthy

SECONDS = 60
MORE_THAN_A_READ = 2_000
_KILLS = 6


@pytest.fixture(autouse=True)
def quick_looks(monkeypatch: pytest.MonkeyPatch) -> None:
    """Looks for recreated topics every second."""
    for module in (global_table, recreation_watch):
        monkeypatch.setattr(module, "_LOOK_SECONDS", 1.0)


@pytest.fixture
def topic() -> Topic:
    """The name of a topic that does not exist yet."""
    return cast(Topic, f"table-{uuid.uuid4()}")


def create(brokers: Cluster, topic: Topic) -> None:
    admin = admin_client(brokers.bootstrap)  # keep a reference until it has answered
    (created,) = admin.create_topics([NewTopic(topic, 1, 3)]).values()
    created.result(SECONDS)


def delete(brokers: Cluster, topic: Topic) -> None:
    admin = admin_client(brokers.bootstrap)
    (deleted,) = admin.delete_topics([topic]).values()
    deleted.result(SECONDS)


def write(brokers: Cluster, topic: Topic, **values: str | None) -> None:
    producer = Producer(producer_config(brokers.bootstrap, "test"))
    for key, value in values.items():
        producer.produce(topic, value, key)
    assert producer.flush(SECONDS) == 0


Numbers = dict[bytes, int]


@contextmanager
def table(
    brokers: Cluster, topic: Topic, complete_key: bytes | None = None
) -> Iterator[GlobalTable[Numbers]]:
    """Numbers by key."""
    reader = GlobalTable[Numbers](
        bootstrap=brokers.bootstrap,
        client_id="test",
        topic=topic,
        decode=int,
        view=dict,
        complete_key=complete_key,
    ).start()
    try:
        yield reader
    finally:
        reader.stop()


@contextmanager
def exact(brokers: Cluster, topic: Topic) -> Iterator[ExactTable[Numbers]]:
    reader = ExactTable[Numbers](
        bootstrap=brokers.bootstrap, client_id="test", topic=topic, decode=int, view=dict
    )
    reader.start()
    try:
        yield reader
    finally:
        reader.stop()


def eventually(said: Callable[[], bool]) -> bool:
    deadline = time.monotonic() + SECONDS
    while not said() and time.monotonic() < deadline:
        time.sleep(0.1)
    return said()


def test_the_latest_value_of_each_key_is_there_once_it_is_loaded(brokers: Cluster, topic: Topic) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1", b="2")
    write(brokers, topic, a="3", b=None, c="4")
    with table(brokers, topic) as numbers:
        assert numbers.wait(SECONDS)
        assert numbers.view == {b"a": 3, b"c": 4}


def test_a_table_is_not_loaded_where_a_leader_that_has_just_started_lets_it_read_to(
    brokers: Cluster, topic: Topic, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Such a leader refuses to name the end at first, and then names one that it does not serve yet."""
    create(brokers, topic)
    write(brokers, topic, a="1")
    answers: list[Callable[[], RetainedOffsets]] = [_refused, lambda: RetainedOffsets(0, 2)]

    def asked(consumer: Consumer, partition: TopicPartition, *, seconds: float) -> RetainedOffsets:
        return answers.pop(0)() if answers else retained_offsets(consumer, partition, seconds=seconds)

    monkeypatch.setattr(global_table, "retained_offsets", asked)
    with table(brokers, topic) as numbers:
        assert eventually(lambda: not answers)
        assert not numbers.wait(1)
        write(brokers, topic, b="2")
        assert numbers.wait(SECONDS)
        assert numbers.view == {b"a": 1, b"b": 2}


@pytest.mark.proof
def test_a_table_that_starts_with_killed_brokers_is_not_loaded_without_the_newest_values(
    brokers: Cluster, topic: Topic
) -> None:
    create(brokers, topic)
    for number in range(_KILLS):
        write(brokers, topic, **{f"k{each}": str(number) for each in range(10)})
        kill_all(brokers)
        for broker in BROKER_IDS:
            brokers.start(broker)
        try:
            with table(brokers, topic) as numbers:
                assert numbers.wait(SECONDS)
                assert numbers.view == {b"k%d" % each: number for each in range(10)}
        finally:
            wait_healthy(brokers)


def _refused() -> RetainedOffsets:
    raise KafkaException(KafkaError(KafkaError.OFFSET_NOT_AVAILABLE))


def test_a_value_that_cannot_be_decoded_leaves_the_former_one(brokers: Cluster, topic: Topic) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1")
    write(brokers, topic, a="one", b="2")
    with table(brokers, topic) as numbers:
        assert numbers.wait(SECONDS)
        assert numbers.view == {b"a": 1, b"b": 2}


def test_a_topic_that_comes_late_is_waited_for(brokers: Cluster, topic: Topic) -> None:
    with table(brokers, topic) as numbers:
        assert not numbers.wait(0.5)
        create(brokers, topic)
        write(brokers, topic, a="1")
        assert numbers.wait(SECONDS)
        assert eventually(lambda: numbers.view == {b"a": 1})


def test_a_topic_that_was_read_to_its_end_is_not_loaded_before_it_is_complete(
    brokers: Cluster, topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1")
    with table(brokers, topic, b"last") as numbers:
        assert eventually(lambda: "topic lacks a part" in caplog.text)
        write(brokers, topic, b="2")
        assert eventually(lambda: numbers.view == {b"a": 1, b"b": 2})
        assert not numbers.loaded
        write(brokers, topic, last="3", a=None)
        assert numbers.wait(SECONDS)
        assert numbers.view == {b"b": 2, b"last": 3}


def test_a_recreated_topic_is_read_on_top_of_the_old_content(
    brokers: Cluster, topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1", b="2")
    with table(brokers, topic) as numbers:
        assert numbers.wait(SECONDS)
        delete(brokers, topic)
        assert eventually(lambda: "topic is gone" in caplog.text)
        assert numbers.view == {b"a": 1, b"b": 2}
        create(brokers, topic)
        write(brokers, topic, b="3")
        assert eventually(lambda: numbers.view == {b"a": 1, b"b": 3})


def test_keys_that_a_recreated_topic_lacks_are_dropped_once_it_is_complete(
    brokers: Cluster, topic: Topic, caplog: pytest.LogCaptureFixture
) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1", b="2", last="0")
    with table(brokers, topic, b"last") as numbers:
        assert numbers.wait(SECONDS)
        delete(brokers, topic)
        assert eventually(lambda: "topic is gone" in caplog.text)
        create(brokers, topic)
        write(brokers, topic, b="3")
        assert eventually(lambda: numbers.view == {b"a": 1, b"b": 3, b"last": 0}), "it may come yet"
        write(brokers, topic, c="4", d="5", last="6")
        write(brokers, topic, d=None)
        assert eventually(lambda: numbers.view == {b"b": 3, b"c": 4, b"last": 6})


def test_a_topic_that_was_made_again_at_once_is_noticed_too(brokers: Cluster, topic: Topic) -> None:
    create(brokers, topic)
    write(brokers, topic, **{f"old-{number}": "1" for number in range(10)}, a="1", last="0")
    with table(brokers, topic, b"last") as numbers, exact(brokers, topic) as exactly:
        assert numbers.wait(SECONDS)
        assert exactly.wait(SECONDS)
        delete(brokers, topic)
        create(brokers, topic)
        assert eventually(lambda: exactly.view == {}), "whoever repairs it sees that it is empty"
        write(brokers, topic, b="3", last="6")
        assert eventually(lambda: numbers.view == exactly.view == {b"b": 3, b"last": 6})
        assert eventually(lambda: numbers.position == exactly.position == 2), "the end of the new topic"


def test_a_table_that_is_read_again_claims_no_record_that_its_view_lacks(
    brokers: Cluster, topic: Topic
) -> None:
    create(brokers, topic)
    write(brokers, topic, pipe="1")
    claimed, failed = list[tuple[int, int]](), threading.Event()

    def used(position: int) -> None:
        claimed.append((position, reader.view[b"pipe"]))
        if not failed.is_set():
            write(brokers, topic, pipe="2")
            failed.set()
            raise RuntimeError("the consumer is replaced")

    reader = GlobalTable[Numbers](
        bootstrap=brokers.bootstrap, client_id="test", topic=topic, decode=int, view=dict, used=used
    )
    reader.start()
    try:
        assert eventually(lambda: any(position == 2 for position, _ in claimed))
    finally:
        reader.stop()
    assert set(claimed) <= {(0, 1), (1, 1), (2, 2)}


def test_a_table_that_is_read_again_does_not_go_back_in_time(brokers: Cluster, topic: Topic) -> None:
    create(brokers, topic)
    write(brokers, topic, pipe="1")
    write(brokers, topic, pipe=None)
    write(brokers, topic, **{f"other-{number}": "7" for number in range(MORE_THAN_A_READ)})
    write(brokers, topic, pipe="2")
    views, failed = list[Numbers](), threading.Event()

    def fail_once(_position: int) -> None:
        if not failed.is_set():
            failed.set()
            del views[:]
            raise RuntimeError("the consumer is replaced")

    def view(values: Mapping[bytes, int]) -> Numbers:
        views.append(dict(values))
        return views[-1]

    reader = GlobalTable[Numbers](
        bootstrap=brokers.bootstrap, client_id="test", topic=topic, decode=int, view=view, used=fail_once
    )
    reader.start()
    try:
        assert reader.wait(SECONDS)
        assert failed.wait(SECONDS)
        write(brokers, topic, pipe="3")
        assert eventually(lambda: reader.view[b"pipe"] == 3)
    finally:
        reader.stop()
    assert [each[b"pipe"] for each in views] in ([2, 3], [3]), "a former state was seen"


def test_a_table_is_as_new_as_the_topics_end_though_a_transaction_is_open(
    brokers: Cluster, topic: Topic
) -> None:
    create(brokers, topic)
    end = TopicEnd(brokers.bootstrap, "test", topic)
    config = producer_config(brokers.bootstrap, "test")
    plain, writer = Producer(config), Producer(config | {"transactional.id": str(topic)})
    writer.init_transactions(SECONDS)
    with table(brokers, topic) as numbers:
        for number in range(10):
            plain.produce(topic, str(number), "a")
            assert plain.flush(SECONDS) == 0
            assert numbers.wait_for(end.offset(SECONDS), SECONDS)
            assert numbers.view == {b"a": number}
        for number, finish in enumerate((writer.commit_transaction, writer.abort_transaction)):
            writer.begin_transaction()
            writer.produce(topic, str(number), "b")
            assert writer.flush(SECONDS) == 0
            before = end.offset(SECONDS)
            assert numbers.wait_for(before, SECONDS), "it does not wait for what is open"
            finish()
            while end.offset(SECONDS) < before + 2:  # the record and its end marker
                time.sleep(0.05)
            assert numbers.wait_for(end.offset(SECONDS), SECONDS)
            assert numbers.view == {b"a": 9, b"b": 0}
    end.close()


def test_a_table_that_is_behind_says_so_in_time(brokers: Cluster, topic: Topic) -> None:
    create(brokers, topic)
    write(brokers, topic, a="1")
    with table(brokers, topic) as numbers:
        assert numbers.wait_for(1, SECONDS)
        assert not numbers.wait_for(2, 0.1)
