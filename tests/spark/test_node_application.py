"""A node as a separate application, as on a cluster."""

import json
import os
import signal
import subprocess
import sys
import urllib.error
import urllib.request
from collections.abc import Iterator
from contextlib import closing
from dataclasses import dataclass
from http import HTTPStatus
from pathlib import Path
from typing import Any

import pytest
from confluent_kafka import Consumer, TopicPartition
from prometheus_client.parser import text_string_to_metric_families

from shared.contracts.documents import Pipe
from shared.contracts.topics import Topic
from shared.kafka.background_reader import reader_config
from shared.kafka.progress_group import group_name
from shared.kafka.retained_offsets import retained_offsets
from shared.runtime.metrics import ProcessMetric, SparkMetric
from shared.runtime.settings import SparkSettings
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.spark.events import event_headers

pytestmark = pytest.mark.proof

READ = f"{SparkMetric.RECORDS_READ}_total"
_STOP_SECONDS = 60


@dataclass(frozen=True, kw_only=True)
class Application:
    """A running node, its log, and its ready file."""

    process: subprocess.Popen[bytes]
    ready: Path
    log: Path

    def lines(self) -> list[dict[str, Any]]:
        """The log so far; the last line may be incomplete."""
        return [json.loads(line) for line in self.log.read_text().split("\n")[:-1]]

    def get(self, path: str) -> tuple[int, str]:
        """Status and body of a response."""
        port = next(line["port"] for line in self.lines() if "port" in line)
        try:
            with urllib.request.urlopen(f"http://127.0.0.1:{port}{path}", timeout=10) as reply:
                return reply.status, reply.read().decode()
        except urllib.error.HTTPError as error:
            return error.code, error.read().decode()

    def metric(self, name: str, **labels: str) -> float:
        """A sample's value; 0 if there is none."""
        samples = [
            sample
            for family in text_string_to_metric_families(self.get("/metrics")[1])
            for sample in family.samples
            if sample.name == name and labels.items() <= sample.labels.items()
        ]
        return sum(sample.value for sample in samples)


@pytest.fixture
def route(spark_settings: SparkSettings, topics: str, tmp_path: Path) -> Iterator[Application]:
    """The process `python -m pipelines.data.route`."""
    ready, log = tmp_path / "ready", tmp_path / "log"
    (tmp_path / "tmp").mkdir()
    given = {
        "HIFI_BOOTSTRAP": topics,
        "HIFI_CHECKPOINTS": str(tmp_path / "checkpoints"),
        "HIFI_JARS": str(spark_settings.jars),
        "HIFI_CLASS_ARCHIVE": str(spark_settings.class_archive),
        "HIFI_JAVA_OPTIONS": spark_settings.java_options,
        "HIFI_METRICS_PORT": "0",
        "HIFI_READY_FILE": str(ready),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-m", "pipelines.data.route"]
    with log.open("wb") as output:
        # As on a local side: near the temporary folder, as socket paths must be short.
        process = subprocess.Popen(
            command, env={**os.environ, **given}, cwd=tmp_path, stdout=output, stderr=output
        )
    try:
        yield Application(process=process, ready=ready, log=log)
        process.send_signal(signal.SIGTERM)
        assert process.wait(_STOP_SECONDS) == 0
        assert not ready.exists(), "an ended node must not be ready"
    finally:
        process.kill()
        process.wait(_STOP_SECONDS)


def test_a_node_says_when_it_is_ready_and_shows_its_progress(route: Application, topics: str) -> None:
    records = Topics(topics)
    records.publish(Pipe(name="all", tenant="acme", source="player", destination="lake"))
    eventually(lambda: route.ready.exists() or route.process.poll() is not None, 240)
    assert route.process.poll() is None, "ended before it was ready"
    assert route.ready.read_text() == str(route.process.pid)
    assert route.get("/readyz") == (HTTPStatus.OK, '{"ready": true, "queries": true}')
    end = sum(_end(topics, partition) for partition in (0, 1))
    records.put(Topic.EVENTS, b"{}", event_headers(), None)
    records.flush()
    eventually(lambda: len(records.all_of(Topic.OUTBOUND)) == 1, 240)
    eventually(lambda: _shown(topics) == end + 1, 240)
    eventually(lambda: route.metric(READ, query="route") == 1, 60)
    records.put(Topic.EVENTS, b"{}", event_headers(), None)
    records.flush()
    eventually(lambda: route.metric(READ, query="route") == 2, 60)
    _tells_prometheus_of_its_work(route)
    _writes_nothing_but_json(route)


def _tells_prometheus_of_its_work(route: Application) -> None:
    assert route.metric(SparkMetric.LAG, query="route", topic=Topic.EVENTS) == 0
    assert route.metric(SparkMetric.BATCH_SECONDS, query="route") > 1
    assert 0 < route.metric(SparkMetric.PROGRESS_AGE, query="route") < 60
    assert route.metric(SparkMetric.READY) == 1
    assert route.metric(SparkMetric.HEAP_BYTES) > 1e6
    assert route.metric(f"{SparkMetric.GC_SECONDS}_total") > 0
    for part in ("driver", "jvm"):
        assert route.metric(f"{SparkMetric.CPU_SECONDS}_total", part=part) > 0.1
        assert route.metric(SparkMetric.MEMORY_BYTES, part=part) > 1e7
    assert route.metric(ProcessMetric.BUILD, process="route") == 1
    assert route.metric(ProcessMetric.STARTED) > 0


def _writes_nothing_but_json(route: Application) -> None:
    lines = route.lines()
    for line in lines:
        assert line.keys() >= {"time", "level", "logger", "message", "process"}, line
        assert line["process"] == "route"
    # The application's lines and the JVM's own output.
    assert {line["logger"] for line in lines} >= {"shared.spark.application", "shared.spark.jvm_output"}


def _end(bootstrap: str, partition: int) -> int:
    with closing(Consumer(reader_config(bootstrap, "test"))) as consumer:
        return retained_offsets(consumer, TopicPartition(Topic.EVENTS, partition), seconds=10).end


def _shown(bootstrap: str) -> int:
    """The sum of the offsets that route's progress group has committed."""
    config = reader_config(bootstrap, "test") | {"group.id": group_name("route")}
    with closing(Consumer(config)) as consumer:
        found = consumer.committed([TopicPartition(Topic.EVENTS, partition) for partition in (0, 1)], 10)
    return sum(max(0, partition.offset) for partition in found)
