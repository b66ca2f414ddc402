"""A replay after a release that added partitions to `collected`, with brokers simulated by librdkafka."""

from collections.abc import Iterator
from pathlib import Path
from typing import Final

import msgspec
import pytest
from confluent_kafka import Consumer, Producer, TopicPartition

from pipelines.control.backends.checkpoints import query_positions
from pipelines.control.backends.restoring import restore_side
from pipelines.control.deploy.backend import CannotReplayError
from pipelines.control.deploy.replays import replay_positions
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.releases import Positions
from shared.contracts.replay_range import REPLAY_FILE, decode_replay_range
from shared.contracts.topics import Topic
from shared.kafka.progress_group import group_name

GROUP: Final = group_name("ingest")
SEGMENT: Final = b"." * 900_000
"""Simulated partitions hold 5 MiB: the last five of nine such records."""


def _positions(offsets: dict[str, int]) -> Positions:
    return Positions(queries={"ingest": offsets}, groups={GROUP: offsets})


SNAPSHOT: Final = _positions({"collected/0": 1, "collected/1": 0})
"""Simulated topics have four partitions: two are new."""

LEFT_AT: Final = _positions({"collected/0": 2, "collected/1": 0, "collected/2": 1})
BEGINS: Final = {"collected/0": 1, "collected/1": 0, "collected/2": 0, "collected/3": 0}


@pytest.fixture
def bootstrap() -> Iterator[str]:
    simulated = Producer({"bootstrap.servers": "none:1", "test.mock.num.brokers": 1, "log_level": 0})
    (broker,) = simulated.list_topics(timeout=60).brokers.values()
    yield f"{broker.host}:{broker.port}"


def _write(bootstrap: str, partition: int, *records: bytes) -> None:
    producer = Producer({"bootstrap.servers": bootstrap, "log_level": 0})
    for record in records:
        producer.produce(Topic.COLLECTED, record, partition=partition)
        assert producer.flush(60) == 0


def _committed(bootstrap: str) -> dict[str, int]:
    consumer = Consumer({"bootstrap.servers": bootstrap, "group.id": GROUP, "log_level": 0})
    try:
        asked = [TopicPartition(Topic.COLLECTED, partition) for partition in range(len(BEGINS))]
        return {f"{at.topic}/{at.partition}": at.offset for at in consumer.committed(asked, timeout=60)}
    finally:
        consumer.close()


def test_a_replay_marks_what_is_in_the_partitions_that_the_bad_version_added(
    bootstrap: str, tmp_path: Path
) -> None:
    checkpoints = FolderCheckpoints(tmp_path)
    _write(bootstrap, 0, b"[]", b"[]", b"[]")
    _write(bootstrap, 2, b"[]", b"[]")
    for _ in range(2):
        restore_side(bootstrap, checkpoints, replay_positions(SNAPSHOT, LEFT_AT), LEFT_AT, marks=True)
        written = (tmp_path / "ingest" / "sources" / "0" / "0").read_bytes()
        assert msgspec.json.decode(written[written.index(b"{") :]) == {
            "collected": {"0": 1, "1": 0, "2": 0, "3": 0}
        }
        assert query_positions(checkpoints) == {"ingest": BEGINS}
        replay = decode_replay_range((tmp_path / "ingest" / REPLAY_FILE).read_bytes())
        assert replay.before == {"collected": {"0": 3, "1": 0, "2": 2, "3": 0}}
        assert _committed(bootstrap) == BEGINS, "the lag would be that of the bad version"


def test_a_replay_of_added_partitions_whose_first_records_are_deleted_is_refused(
    bootstrap: str, tmp_path: Path
) -> None:
    checkpoints = FolderCheckpoints(tmp_path)
    _write(bootstrap, 0, b"[]")
    _write(bootstrap, 3, *[SEGMENT] * 9)
    with pytest.raises(CannotReplayError, match="4 of the records that it would begin with are deleted"):
        restore_side(bootstrap, checkpoints, replay_positions(SNAPSHOT, LEFT_AT), LEFT_AT, marks=True)
    assert query_positions(checkpoints) == {}
