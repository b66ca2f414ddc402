"""Positions of a side that never ran, or that has a destroyed side's checkpoints, on real brokers."""

from pathlib import Path

from confluent_kafka import TopicPartition

from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.control.backends.restoring import restore_side
from pipelines.control.backends.side_positions import SideBrokers, side_positions
from pipelines.control.deploy.replays import replay_positions
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts.replay_range import REPLAY_FILE
from shared.contracts.topics import Topic
from shared.contracts.topology import CHAIN_QUERIES
from shared.kafka.admin import admin_client
from shared.kafka.consumer_lag import partition_ends
from tests.conftest import delete_up_to
from tests.harness.topics import Topics


def test_the_first_release_to_a_side_goes_back_to_the_first_records_that_there_are(
    topics: str, tmp_path: Path
) -> None:
    written, checkpoints = Topics(topics), FolderCheckpoints(tmp_path)
    for number in range(4):
        written.put(Topic.COLLECTED, b"[]", [], b"%d" % number)
    written.flush()
    ends = partition_ends(admin_client(topics))
    (partition, end) = next((p, end) for (topic, p), end in ends.items() if topic == Topic.COLLECTED and end)
    delete_up_to(topics, [TopicPartition(Topic.COLLECTED, partition, end)])
    snapshot = side_positions(SideBrokers(topics), checkpoints)
    assert set(snapshot.queries) == set(CHAIN_QUERIES)
    assert snapshot.queries["ingest"][f"collected/{partition}"] == end
    restore_side(topics, checkpoints, replay_positions(snapshot, snapshot), snapshot, marks=True)
    assert query_positions(checkpoints, CHAIN_QUERIES) == snapshot.queries
    assert (tmp_path / "ingest" / REPLAY_FILE).exists()


def test_the_checkpoints_of_brokers_that_are_gone_do_not_count(topics: str, tmp_path: Path) -> None:
    brokers, checkpoints = SideBrokers(topics), FolderCheckpoints(tmp_path)
    write_checkpoint(checkpoints, "ingest", {"collected/0": 5_000_000})
    first = brokers.held([Topic.COLLECTED])["collected/0"].start
    assert side_positions(brokers, checkpoints).queries["ingest"] == {"collected/0": first}
    write_checkpoint(checkpoints, "ingest", {"not-there-yet/0": 5_000_000})
    assert "ingest" not in side_positions(brokers, checkpoints).queries
