"""The kafka connector keeps every connector's promises, against three real brokers."""

import asyncio
import random
import time
import uuid
from collections.abc import Callable, Iterator
from contextlib import suppress
from typing import Any, ClassVar

import pytest
from confluent_kafka import Consumer, KafkaError, KafkaException, Message, TopicPartition
from confluent_kafka.cimpl import NewTopic

from pipelines.data.transmit.connectors.kafka import cluster as clusters
from pipelines.data.transmit.connectors.kafka.access import Access, producer_config
from scripts.local.kafka.cluster import Cluster
from scripts.local.side import REACH
from shared.contracts.egress_policy import EgressPolicy
from shared.kafka.admin import admin_client
from shared.kafka.retained_offsets import retained_offsets
from tests.contract.connectors.conformance import ALL, Conformance, ends, opened, reasons, send
from tests.contract.connectors.far import Far
from tests.contract.transmit_rig import AMPLE, Rig
from tests.harness.scripted_server import Loop, closed
from tests.unit.pipelines.data.transmit.transmit_events import flat_batch, row

LARGEST = 300_000
"""Bytes of a batch, compressed."""

NOTICED_SECONDS = 60
"""Time until a changed cluster is noticed, on a busy machine; seconds."""

NEVER = "brokers take or refuse a batch; the client asks again by itself, on a connection of its own"


class KafkaTopic(Far):
    """A topic with two partitions and three replicas."""

    connector = "kafka"
    per_event: ClassVar[bool] = True
    cannot: ClassVar[dict[str, str]] = dict.fromkeys(
        ("refuse", "fail_once", "throttle", "lose_answer_once"), NEVER
    )

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self.name = f"orders-{uuid.uuid4().hex[:8]}"
        self._admin = admin_client(bootstrap)
        config = {"max.message.bytes": str(LARGEST), "min.insync.replicas": "2"}
        made = NewTopic(self.name, num_partitions=2, replication_factor=3, config=config)
        self._admin.create_topics([made])[self.name].result(AMPLE)
        until = time.monotonic() + AMPLE
        while not all(self._known_by(server) for server in bootstrap.split(",")):
            assert time.monotonic() < until, "a broker does not know the topic"
            time.sleep(0.05)

    def _known_by(self, server: str) -> bool:
        found = admin_client(server).list_topics(self.name, timeout=AMPLE).topics[self.name].partitions
        return len(found) == 2 and all(each.leader > 0 for each in found.values())

    def options(self, port: int | None = None) -> dict[str, Any]:
        servers = [f"127.0.0.1:{port}"] if port else self.bootstrap.split(",")
        return {"bootstrap_servers": servers, "topic": self.name, "tls": False}

    def messages(self) -> list[Message]:
        """All records of the topic."""
        consumer = Consumer({"bootstrap.servers": self.bootstrap, "group.id": "looks"})
        parts = [TopicPartition(self.name, partition, 0) for partition in (0, 1)]
        left = sum(retained_offsets(consumer, part, seconds=AMPLE).end for part in parts)
        consumer.assign(parts)
        found: list[Message] = []
        while len(found) < left:
            found += consumer.consume(left - len(found), timeout=10)
        consumer.close()
        return found

    def received(self) -> list[str]:
        return [header(each, "ce_id") for each in self.messages()]

    def refuse(self, ids: set[str]) -> None:
        raise NotImplementedError

    fail_once = refuse

    def throttle(self) -> None:
        raise NotImplementedError

    lose_answer_once = throttle

    def requests(self) -> int:
        raise NotImplementedError

    def close(self) -> None:
        with suppress(KafkaException):  # a repeated request finds the topic deleted
            self._admin.delete_topics([self.name])[self.name].result(AMPLE)


def header(message: Message, name: str) -> str:
    value = dict(message.headers() or [])[name]
    assert isinstance(value, bytes)
    return value.decode()


@pytest.fixture
def far(brokers: Cluster) -> Iterator[KafkaTopic]:
    topic = KafkaTopic(brokers.bootstrap)
    yield topic
    topic.close()


class TestKafka(Conformance):
    """Runs the suite against the topic."""


class Renaming:
    """A broker's proxy that replaces the brokers' address by another one of the same length."""

    def __init__(self, port: int, address: bytes) -> None:
        self._loop = Loop()
        self._behind, self._address = port, address
        self._server = self._loop.run(asyncio.start_server(self._serve, "127.0.0.1", 0))
        self.port = int(self._server.sockets[0].getsockname()[1])

    async def _serve(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter) -> None:
        near, far = await asyncio.open_connection("127.0.0.1", self._behind)
        try:
            await asyncio.gather(self._pass(reader, far, b""), self._pass(near, writer, self._address))
        finally:
            far.transport.abort()
            writer.transport.abort()

    async def _pass(self, reader: asyncio.StreamReader, writer: asyncio.StreamWriter, name: bytes) -> None:
        while data := await reader.read(65_536):
            writer.write(data.replace(b"127.0.0.1", name) if name else data)
        writer.close()

    def close(self) -> None:
        self._loop.run(closed(self._server))
        self._loop.close()


def test_a_record_is_the_event_in_binary_mode_under_its_partition_key(far: KafkaTopic, rig: Rig) -> None:
    value = b'{\n "n": 12345678901234567890.10 }'
    headers = bytes(row(2)["headers"])  # type: ignore[call-overload]
    keyed = row(2) | {"headers": headers.replace(b"{", b'{"ce_partitionkey":"k",', 1)}
    rig.deliver(flat_batch([row(1, value=value), keyed, row(3, value=None)]))
    first, second, third = sorted(far.messages(), key=lambda each: header(each, "ce_id"))
    assert (first.key(), second.key()) == (b"e1", b"k")
    assert (first.value(), third.value()) == (value, b"")
    assert dict(first.headers() or []) == {
        "ce_specversion": b"1.0",
        "ce_id": b"e1",
        "ce_source": b"test",
        "ce_type": b"t",
        "content-type": b"application/json",
    }


def test_a_topic_that_is_not_there_is_waited_for_and_not_made(far: KafkaTopic, rig: Rig) -> None:
    rig.lead("p1", "kafka", far.options() | {"topic": f"{far.name}-not"})
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "retry")
    assert set(reasons(rows)) == {"unknown_topic: the cluster has no such topic; create it"}
    assert f"{far.name}-not" not in far._admin.list_topics(timeout=AMPLE).topics


def test_a_record_that_is_too_large_is_dead_alone(far: KafkaTopic, rig: Rig) -> None:
    noise = random.Random(1).randbytes(LARGEST).hex().encode()
    rows = rig.deliver(flat_batch([row(1), row(2, value=b'"' + noise + b'"'), row(3)]))
    assert ends(rows) == {"e1": "delivered", "e2": "dead", "e3": "delivered"}
    assert reasons(rows) == ["refused: the destination answered 413 (MSG_SIZE_TOO_LARGE)"]
    assert sorted(far.received()) == ["e1", "e3"]


def test_a_record_that_got_no_answer_alone_is_not_taken_for_too_large(
    far: KafkaTopic, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    """The broker refused a batch, which may have held other requests' records."""

    def config(access: Access, on_error: Callable[[KafkaError], None]) -> dict[str, Any]:
        alone = {"bootstrap.servers": "127.0.0.1:1"} if access.batch_records else {}
        return producer_config(access, on_error) | alone

    monkeypatch.setattr(clusters, "producer_config", config)
    noise = random.Random(1).randbytes(LARGEST).hex().encode()
    rows = rig.deliver(flat_batch([row(1, value=b'"' + noise + b'"')]), deadline=5)
    assert ends(rows) == {"e1": "retry"}


def test_one_topic_that_is_not_there_does_not_keep_another(far: KafkaTopic, rig: Rig) -> None:
    rig.lead("p2", "kafka", far.options() | {"topic": f"{far.name}-not"})
    rig.lead("p1", "kafka", far.options())
    rows = rig.deliver(flat_batch([row(1), row(2, pipe="p2"), row(3)]))
    assert ends(rows) == {"e1": "delivered", "e2": "retry", "e3": "delivered"}


@pytest.mark.parametrize("address", [b"10.10.0.1", b"192.0.2.1", b"fe80::1:9"])
def test_a_cluster_that_names_an_inner_broker_gets_no_event(
    far: KafkaTopic, brokers: Cluster, address: bytes
) -> None:
    between = Renaming(brokers.side.broker_port(1), address)
    rig = opened(far, REACH)
    try:
        rig.lead("p1", "kafka", far.options(between.port))
        rows = send(rig)
    finally:
        rig.close()
        between.close()
    assert ends(rows) == dict.fromkeys(ALL, "dead")
    assert {text.partition(" ")[0] for text in reasons(rows)} == {"refused_address:"}
    assert not far.received()


def test_a_cluster_that_names_an_inner_broker_later_gets_no_more_events(
    far: KafkaTopic, rig: Rig, monkeypatch: pytest.MonkeyPatch
) -> None:
    assert set(ends(send(rig)).values()) == {"delivered"}
    (cluster,) = rig.connector("kafka")._clusters.values()
    monkeypatch.setattr(clusters, "LOOK_SECONDS", 0.0)
    cluster._egress = EgressPolicy()  # revoke the permission
    until = time.monotonic() + NOTICED_SECONDS
    while not reasons(send(rig)):  # some records may leave before the first refusal
        assert time.monotonic() < until, "it is not noticed"
    before = len(far.received())
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "dead")
    assert {text.partition(" ")[0] for text in reasons(rows)} == {"refused_address:"}
    assert len(far.received()) == before


def test_without_tls_only_this_machine_is_dialled(far: KafkaTopic, rig: Rig) -> None:
    options = {"bootstrap_servers": ["8.8.8.8:9092"], "topic": "t", "tls": False}
    rig.lead("p1", "kafka", options)
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "dead")
    assert {text.partition(":")[0] for text in reasons(rows)} == {"tls_needed"}


def test_a_server_without_tls_is_not_spoken_to_in_clear(far: KafkaTopic, rig: Rig) -> None:
    rig.lead("p1", "kafka", far.options() | {"tls": True}, timeout_seconds=2)
    rows = send(rig)
    assert ends(rows) == dict.fromkeys(ALL, "retry")
    assert not far.received()
