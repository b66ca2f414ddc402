"""A retry process, and waiting records for it."""

import http.client
import json
import os
import signal
import subprocess
import sys
from pathlib import Path

import psutil
from confluent_kafka import Consumer, TopicPartition

from shared.contracts import headers as h
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.offset_range_reader import OffsetRangeReader
from shared.kafka.progress_group import group_name
from tests.harness.topics import Topics, outbound_headers
from tests.harness.waiting import free_port

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
        if number % _FLUSH == 0:  # the client's own queue is bounded
            topics.flush()
    topics.flush()


class RetryProcess:
    """`python -m pipelines.data.retry` on a port of its own."""

    def __init__(self, bootstrap: str, log: Path, **settings: str) -> None:
        self.port = free_port()
        self.log = log
        env = os.environ | {"HIFI_BOOTSTRAP": bootstrap, "HIFI_PORT": str(self.port)}
        env |= {f"HIFI_{name.upper()}": value for name, value in settings.items()}
        with log.open("wb") as output:
            self.process = subprocess.Popen(
                [sys.executable, "-m", "pipelines.data.retry"], env=env, stdout=output, stderr=output
            )
        self.usage = psutil.Process(self.process.pid)

    def kill(self) -> None:
        """SIGKILL, and wait until it is gone."""
        self.process.kill()
        self.process.wait()

    def stop(self) -> int:
        """SIGTERM; gives the exit status."""
        self.process.send_signal(signal.SIGTERM)
        return self.process.wait(30)

    def get(self, path: str) -> tuple[int, str]:
        """Status and text of a reply."""
        connection = http.client.HTTPConnection("127.0.0.1", self.port, timeout=5)
        try:
            connection.request("GET", path)
            response = connection.getresponse()
            return response.status, response.read().decode()
        finally:
            connection.close()

    def ready(self) -> bool:
        """Whether /readyz answers 200."""
        assert self.process.poll() is None, self.log.read_text()
        try:
            status, text = self.get("/readyz")
        except OSError:
            return False
        assert json.loads(text)["ready"] == (status == 200)
        return status == 200

    def holds(self) -> set[str]:
        """The partitions of its lanes, as it logged them last."""
        lines = [json.loads(line) for line in self.log.read_text().splitlines() if line.startswith("{")]
        said = [set(line["held"]) for line in lines if "held" in line]
        return said[-1] if said else set()


def left_over(bootstrap: str) -> int:
    """Records of the waiting topics that the group has not marked as read."""
    consumer = Consumer(reader_config(bootstrap, "test") | {"group.id": group_name("retry")})
    try:
        places = [TopicPartition(topic, 0) for topic in RETRY_DELAYS]
        ends = [consumer.get_watermark_offsets(place, timeout=10) for place in places]
        read = consumer.committed(places, timeout=10)
        return sum(end - max(at.offset, low) for at, (low, end) in zip(read, ends, strict=True))
    finally:
        consumer.close()


def written(bootstrap: str, topic: Topic = Topic.RETRY_OUT) -> int:
    """How many records a topic of one partition holds."""
    consumer = Consumer(reader_config(bootstrap, "test"))
    try:
        low, end = consumer.get_watermark_offsets(TopicPartition(topic, 0), timeout=10)
        return int(end - low)
    finally:
        consumer.close()


def distinct(bootstrap: str, topic: Topic) -> int:
    """How many different keys a topic holds; one at a time, as there may be a million records."""
    with OffsetRangeReader(bootstrap, "test") as reader:
        return len({message.key() for message in reader.read(reader.whole([topic]))})
