"""A query begins at its rewritten checkpoint's position, and a group at its committed positions."""

from functools import partial
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.control.backends.checkpoints import query_positions, write_checkpoint
from pipelines.data.ingest.job import build as build_ingest
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts import headers as h
from shared.contracts.replay_range import replay_of
from shared.contracts.topics import Topic
from shared.kafka.admin import admin_client
from shared.kafka.group_positions import commit_positions, group_positions
from shared.runtime.settings import SparkSettings
from tests.conftest import delete_records
from tests.harness.topics import Topics
from tests.spark.test_ingest_and_route_queries import _COLLECTED, _ONE_PARTITION, collected, text, until

_START_SECONDS = 120.0


def _end(bootstrap: str) -> int:
    """End offset of the partition that the next record goes to."""
    records = [each for each in Topics(bootstrap).all_of(Topic.COLLECTED) if each.key() == _ONE_PARTITION]
    return max((each.offset() or 0) + 1 for each in records)


def _first(records: Topics, partition: int) -> int:
    return records.retained(Topic.COLLECTED)[partition].first


@pytest.mark.proof
def test_a_checkpoint_made_anew_is_where_the_query_begins(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    delete_records(topics)
    records = Topics(topics)
    records.put(Topic.COLLECTED, collected("before"), _COLLECTED, _ONE_PARTITION)
    records.flush()
    found = records.all_of(Topic.COLLECTED)
    partition, end = found[0].partition(), _end(topics)
    records.put(Topic.COLLECTED, collected("after"), _COLLECTED, _ONE_PARTITION)
    records.flush()
    other = 1 - (partition or 0)
    offsets = {f"collected/{partition}": end, f"collected/{other}": _first(records, other)}
    write_checkpoint(FolderCheckpoints(tmp_path), "ingest", offsets)
    settings = spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})
    query = build_ingest(spark, settings)
    try:
        until(lambda: bool(records.all_of(Topic.EVENTS)), _START_SECONDS, [query])
        until(lambda: bool(_batches(tmp_path)), _START_SECONDS, [query])
    finally:
        query.stop()
    assert {text(each, "ce_id") for each in records.all_of(Topic.EVENTS)} == {"after"}
    assert query_positions(FolderCheckpoints(tmp_path))["ingest"][f"collected/{partition}"] == end + 1


@pytest.mark.proof
def test_a_replay_marks_what_it_reads_again_until_it_is_over_whatever_is_restarted(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    delete_records(topics)
    records = Topics(topics)
    for name in ("first", "second"):
        records.put(Topic.COLLECTED, collected(name), _COLLECTED, _ONE_PARTITION)
    records.flush()
    found, end = records.all_of(Topic.COLLECTED), _end(topics)
    partition = found[0].partition() or 0
    other = 1 - partition
    since = {"collected": {str(partition): end - 2, str(other): _first(records, other)}}
    replay = replay_of(since, {"collected": {str(partition): end + 1}})
    offsets = {f"collected/{number}": offset for number, offset in since["collected"].items()}
    write_checkpoint(FolderCheckpoints(tmp_path), "ingest", offsets, replay)
    settings = spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})
    for more in ("third", "fourth"):
        query = build_ingest(spark, settings)
        try:
            until(lambda: bool(records.all_of(Topic.EVENTS)), _START_SECONDS, [query])
            until(partial(_has_batches_after, tmp_path, len(_batches(tmp_path))), _START_SECONDS, [query])
        finally:
            query.stop()
        records.put(Topic.COLLECTED, collected(more), _COLLECTED, _ONE_PARTITION)
        records.flush()
    query = build_ingest(spark, settings)
    try:
        until(lambda: len(_marks(records)) == 4, _START_SECONDS, [query])
    finally:
        query.stop()
    marks = _marks(records)
    assert marks == {**dict.fromkeys(("first", "second", "third"), replay.name), "fourth": None}


def _marks(records: Topics) -> dict[str, str | None]:
    """For each event, the replay named by its newest record in `events`."""
    found = records.all_of(Topic.EVENTS)
    return {
        text(m, h.CE_ID): text(m, h.REPLAY) if h.REPLAY in dict(m.headers() or []) else None for m in found
    }


@pytest.mark.proof
def test_a_group_without_members_goes_on_where_it_is_told_to(topics: str) -> None:
    admin = admin_client(topics)
    wanted = {"collected/0": 7, "collected/1": 9}
    commit_positions(admin, "hifi.moved", wanted)
    assert group_positions(admin, ["hifi.moved", "hifi.unheard-of"]) == {"hifi.moved": wanted}
    commit_positions(admin, "hifi.moved", {"collected/0": 3})
    assert group_positions(admin, ["hifi.moved"]) == {"hifi.moved": wanted | {"collected/0": 3}}


def _has_batches_after(checkpoints: Path, seen: int) -> bool:
    return len(_batches(checkpoints)) > seen


def _batches(checkpoints: Path) -> list[Path]:
    return [each for each in (checkpoints / "ingest" / "commits").glob("*") if each.name.isdigit()]
