"""Writes and reads hifi's topics in tests."""

import time
from collections.abc import Mapping
from typing import Final

import msgspec
from confluent_kafka import Consumer, KafkaError, Message, Producer, TopicPartition

from shared.contracts.documents import Destination, Document, Entry, Pipe, encode_entry
from shared.contracts.envelope import delivery_key
from shared.contracts.publish_plan import document_key
from shared.contracts.receipts import Receipt
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.producer import producer_config
from shared.kafka.retained_offsets import RetainedOffsets, retained_offsets

Headers = list[tuple[str, str | bytes | None]]
AT_ONCE: Final = {"fetch.wait.max.ms": 10}
"""A broker answers at once that there is no more."""


class Topics:
    """A producer, and a reader of whole topics."""

    def __init__(self, bootstrap: str) -> None:
        self.bootstrap = bootstrap
        self._producer = Producer(producer_config(bootstrap, "test"))

    def publish(self, *documents: Document) -> None:
        for document in documents:
            value = encode_entry(Entry(version=1, document=document))
            self.put(Topic.CONFIG, value, [], document_key(document))
        self.flush()

    def put(
        self, topic: str, value: bytes | None, headers: Headers, key: bytes | None, at_ms: int = 0
    ) -> None:
        """Write a record with a time of its own, or now."""
        self._producer.produce(topic, value, key, headers=headers, timestamp=at_ms)
        self._producer.poll(0)

    def event(self, pipe: str, number: int, **headers: str) -> None:
        """An outbound record as route writes it; the given headers replace or add."""
        key = delivery_key("t", pipe, "test", f"e{number}")
        self.put(Topic.OUTBOUND, b'{"n":%d}' % number, outbound_headers(pipe, number, **headers), key)

    def flush(self) -> None:
        assert self._producer.flush(120) == 0

    def retained(self, topic: Topic) -> Mapping[int, RetainedOffsets]:
        """Offsets that a topic retains, by partition: they begin after what earlier tests deleted."""
        consumer = Consumer(reader_config(self.bootstrap, "test"))
        try:
            partitions = consumer.list_topics(topic, timeout=60).topics[topic].partitions
            return {
                each: retained_offsets(consumer, TopicPartition(topic, each), seconds=60)
                for each in partitions
            }
        finally:
            consumer.close()

    def all_of(self, topic: str) -> list[Message]:
        """Every record of a topic."""
        consumer = Consumer(reader_config(self.bootstrap, "test") | AT_ONCE)
        partitions = admin_client(self.bootstrap).list_topics(topic, timeout=60).topics[topic].partitions
        consumer.assign([TopicPartition(topic, p, 0) for p in partitions])
        found: list[Message] = []
        ended: set[int] = set()
        while len(ended) < len(partitions):
            for message in consumer.consume(500, timeout=0.05):
                error = message.error()
                if error is None:
                    found.append(message)
                elif error.code() == KafkaError._PARTITION_EOF:
                    ended.add(message.partition() or 0)
        consumer.close()
        return found

    def receipts(self) -> list[Receipt]:
        """Every receipt."""
        return [
            msgspec.json.decode(message.value() or b"", type=Receipt)
            for message in self.all_of(Topic.RECEIPTS)
        ]


def outbound_headers(pipe: str, number: int, **changes: str) -> Headers:
    """Headers of an outbound record; keyword arguments replace or add."""
    texts = {
        "ce_specversion": "1.0",
        "ce_id": f"e{number}",
        "ce_source": "test",
        "ce_type": "t",
        "content-type": "application/json",
        "hifi_tenant": "t",
        "hifi_source": "s",
        "hifi_received": str(int(time.time() * 1000)),
        "hifi_minute": str(int(time.time() // 60)),
        "hifi_pipe": pipe,
        "hifi_attempt": "1",
    } | changes
    return [(name, text.encode()) for name, text in texts.items()]


def pipe_to(name: str, url: str) -> tuple[Destination, Pipe]:
    """A pipe and its destination, with the same name."""
    return (
        Destination(name=name, tenant="t", options={"url": url}),
        Pipe(name=name, tenant="t", source="s", destination=name),
    )
