"""A retry process, and waiting records for it."""

import json
from pathlib import Path
from typing import Any

import psutil
from confluent_kafka import Consumer, TopicPartition

from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.admin import admin_client
from shared.kafka.background_reader import reader_config
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.kafka.progress_group import group_name
from shared.kafka.retained_offsets import retained_offsets
from tests.harness.service_process import ServiceProcess, hifi_settings
from tests.harness.topics import Topics, outbound_headers

_FLUSH = 50_000
PAYLOAD = b'{"n":"%s"}' % (b"x" * 400)


def key(number: int) -> bytes:
    """A record's key, 16 bytes."""
    return b"%016d" % number


def put(topics: Topics, topic: Topic, numbers: range, not_before_ms: int) -> None:
    """Records as transmit writes them after a first try."""
    stamps = {h.NOT_BEFORE: str(not_before_ms), h.FIRST_TRY: "17", h.REASON: "failed: 503"}
    headers = outbound_headers("p", 0, **stamps)
    for number in numbers:
        topics.put(topic, PAYLOAD, headers, key(number))
        if number % _FLUSH == 0:  # the client's queue is bounded
            topics.flush()
    topics.flush()


class RetryProcess(ServiceProcess):
    """retry on a port of its own."""

    program = "pipelines.data.retry.__main__"
    stop_seconds = request_seconds = 60

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        super().__init__(log, {"HIFI_BOOTSTRAP": bootstrap} | hifi_settings(settings))
        self.usage = psutil.Process(self.process.pid)

    def ready(self) -> bool:
        """Whether /readyz answers 200, with the same in its body."""
        answer = self.readiness()
        if answer is None:
            return False
        assert answer.json["ready"] == (answer.status == 200)
        return answer.status == 200

    def holds(self) -> set[str]:
        """The partitions of its delay queues, as last logged."""
        said = [set(line["held"]) for line in self.lines() if "held" in line]
        return said[-1] if said else set()

    def lines(self) -> list[dict[str, Any]]:
        """The log lines."""
        return [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]


def left_over(bootstrap: str) -> int:
    """Number of records of the delay queues beyond the group's offsets."""
    consumer = Consumer(reader_config(bootstrap, "test") | {"group.id": group_name("retry")})
    try:
        places = [TopicPartition(topic, 0) for topic in RETRY_DELAYS]
        ends = [retained_offsets(consumer, place, seconds=60) for place in places]
        read = consumer.committed(places, timeout=60)
        return sum(end - max(at.offset, low) for at, (low, end) in zip(read, ends, strict=True))
    finally:
        consumer.close()


def written(bootstrap: str, topic: Topic = Topic.RETRY_OUT) -> int:
    """Number of records in a topic with one partition."""
    consumer = Consumer(reader_config(bootstrap, "test"))
    try:
        low, end = retained_offsets(consumer, TopicPartition(topic, 0), seconds=60)
        return end - low
    finally:
        consumer.close()


def members(bootstrap: str) -> int:
    """Number of processes that the brokers count as members of the group."""
    admin, group = admin_client(bootstrap), group_name("retry")
    return len(admin.describe_consumer_groups([group])[group].result(60).members)


def distinct(bootstrap: str, topic: Topic) -> int:
    """Number of different keys in a topic; read one by one, as there may be a million records."""
    with OffsetRangeReader(bootstrap, "test") as reader:
        return len({message.key() for message in reader.read(reader.whole([topic]))})
