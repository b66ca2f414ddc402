"""A node as a process of its own, as a cluster runs it."""

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import closing
from pathlib import Path

import pytest
from confluent_kafka import Consumer, TopicPartition

from shared.contracts.config import Pipe
from shared.contracts.topics import Topic
from shared.kafka.shadow_group import group_name
from shared.kafka.table import reader_config
from shared.runtime.settings import SparkSettings
from tests.spark.events import event_headers
from tests.spark.transmit_side import Topics, eventually

pytestmark = pytest.mark.spark

_STOP_SECONDS = 60


@pytest.fixture
def route(
    spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> Iterator[tuple[subprocess.Popen[bytes], Path]]:
    """`python -m pipelines.data.route`, and the file by which it says that it is ready."""
    ready = tmp_path / "ready"
    (tmp_path / "tmp").mkdir()
    given = {
        "HIFI_BOOTSTRAP": topics,
        "HIFI_CHECKPOINTS": str(tmp_path / "checkpoints"),
        "HIFI_JARS": str(spark_settings.jars),
        "HIFI_JAVA_OPTIONS": spark_settings.java_options,
        "HIFI_READY_FILE": str(ready),
        "TMPDIR": str(tmp_path / "tmp"),
    }
    command = [sys.executable, "-m", "pipelines.data.route"]
    # As the local side runs its driver: near the temporary folder, so that the way to the sockets is short.
    process = subprocess.Popen(command, env={**os.environ, **given}, cwd=tmp_path)
    try:
        yield process, ready
        process.send_signal(signal.SIGTERM)
        assert process.wait(_STOP_SECONDS) == 0
        assert not ready.exists(), "who has ended is not ready"
    finally:
        process.kill()
        process.wait(_STOP_SECONDS)


def test_a_node_says_when_it_is_ready_and_shows_its_progress_to_kafka(
    route: tuple[subprocess.Popen[bytes], Path], topics: str
) -> None:
    process, ready = route
    records = Topics(topics)
    records.publish(Pipe(name="all", tenant="acme", source="player", destination="lake"))
    eventually(lambda: ready.exists() or process.poll() is not None)
    assert process.poll() is None, "ended before it was ready"
    assert ready.read_text() == str(process.pid)
    end = sum(_end(topics, partition) for partition in (0, 1))
    records.put(Topic.EVENTS, b"{}", event_headers(), None)
    records.flush()
    eventually(lambda: len(records.all_of(Topic.OUTBOUND)) == 1)
    eventually(lambda: _shown(topics) == end + 1)


def _end(bootstrap: str, partition: int) -> int:
    with closing(Consumer(reader_config(bootstrap, "test"))) as consumer:
        return int(consumer.get_watermark_offsets(TopicPartition(Topic.EVENTS, partition))[1])


def _shown(bootstrap: str) -> int:
    """The sum of the offsets that route's shadow group has committed."""
    config = reader_config(bootstrap, "test") | {"group.id": group_name("route")}
    with closing(Consumer(config)) as consumer:
        found = consumer.committed([TopicPartition(Topic.EVENTS, partition) for partition in (0, 1)], 10)
    return sum(max(0, partition.offset) for partition in found)
