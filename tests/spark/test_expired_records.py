"""After records expired during its outage, a query continues with the remaining ones."""

import json
import shutil
from pathlib import Path

import pytest
from pyspark.sql import SparkSession

from pipelines.control.backends.checkpoints import by_topic, write_checkpoint
from pipelines.data.ingest.job import build as build_ingest
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts import headers as h
from shared.contracts.replay_range import ReplayRange, replay_of
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from shared.spark.starting_offsets import offsets_of_topics, replay_left, starting_offsets
from tests.conftest import delete_records
from tests.harness.topics import Topics
from tests.spark.test_ingest_and_route_queries import (
    _ALLOWED_SECONDS,
    _COLLECTED,
    _ONE_PARTITION,
    collected,
    text,
    until,
)


@pytest.fixture
def settings(spark_settings: SparkSettings, topics: str, tmp_path: Path) -> SparkSettings:
    """Settings of a query with its checkpoint in the test's folder."""
    return spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})


@pytest.fixture
def records(topics: str) -> Topics:
    """The side's topics."""
    return Topics(topics)


def test_a_node_that_stopped_until_its_records_expired_continues_with_the_rest(
    spark: SparkSession, settings: SparkSettings, records: Topics, topics: str
) -> None:
    send_collected(records, "before")
    query = build_ingest(spark, settings)
    until(lambda: events_of(records) == ["before"], _ALLOWED_SECONDS, [query])
    query.stop()
    send_collected(records, "expired")
    delete_records(topics)
    send_collected(records, "after")

    query = build_ingest(spark, settings)
    try:
        until(lambda: events_of(records) == ["after"], _ALLOWED_SECONDS, [query])
    finally:
        query.stop()


def test_where_a_query_goes_on_is_known_though_its_start_failed_after_its_checkpoint_was_set_aside(
    spark: SparkSession, settings: SparkSettings, records: Topics, topics: str, tmp_path: Path
) -> None:
    for name in ("read before", "not read"):
        send_collected(records, name)
    held = offsets_of_topics(topics, (Topic.COLLECTED,))
    (kept,) = (partition for (_, partition), offsets in held.items() if offsets.end > offsets.first)
    before = {partition: offsets.end + 99 for (_, partition), offsets in held.items()}  # a former topic's
    before[kept] = held[Topic.COLLECTED, kept].end - 1
    write_checkpoint(
        FolderCheckpoints(tmp_path), "ingest", {f"collected/{n}": at for n, at in before.items()}
    )

    def begins() -> str:
        return starting_offsets(spark, settings, "ingest", Topic.COLLECTED)

    set_aside = begins()
    assert json.loads(set_aside)[Topic.COLLECTED][kept] == before[kept], "not the first record there is"
    assert begins() == set_aside, "the start before this one failed"


def test_a_replay_goes_on_after_its_checkpoint_was_set_aside(
    spark: SparkSession, settings: SparkSettings, records: Topics, tmp_path: Path
) -> None:
    def ingested(marks: dict[str, str | None]) -> None:
        query = build_ingest(spark, settings)
        try:
            until(lambda: marks_of(records) == marks, _ALLOWED_SECONDS, [query])
        finally:
            query.stop()

    send_collected(records, "first")
    replay = rolled_back(records, tmp_path)
    ingested({"first": replay.name})
    for name in ("second", "new"):
        send_collected(records, name)
    ingested({"first": replay.name, "second": replay.name, "new": None})


def test_a_replay_is_known_though_the_start_failed_after_its_checkpoint_was_set_aside(
    spark: SparkSession, settings: SparkSettings, records: Topics, tmp_path: Path
) -> None:
    send_collected(records, "first")
    replay = rolled_back(records, tmp_path)
    starting_offsets(spark, settings, "ingest", Topic.COLLECTED)
    shutil.rmtree(tmp_path / "ingest")  # as if it had ended before it began the new one
    starting_offsets(spark, settings, "ingest", Topic.COLLECTED)
    found = replay_left(spark, settings, "ingest")
    assert found is not None
    assert found.name == replay.name


def test_a_later_checkpoint_has_nothing_of_an_earlier_ones_replay(
    spark: SparkSession, settings: SparkSettings, records: Topics, tmp_path: Path
) -> None:
    send_collected(records, "first")
    held = records.retained(Topic.COLLECTED)
    usable = {f"collected/{each}": offsets.first for each, offsets in held.items()}
    recreated = usable | {f"collected/{min(held)}": held[min(held)].end + 99}
    rolled_back(records, tmp_path)
    for offsets in (None, usable, recreated):
        if offsets is not None:
            write_checkpoint(FolderCheckpoints(tmp_path), "ingest", offsets)
        starting_offsets(spark, settings, "ingest", Topic.COLLECTED)
        assert (replay_left(spark, settings, "ingest") is None) == (offsets is not None)
    starting_offsets(spark, settings, "ingest", Topic.COLLECTED)
    assert replay_left(spark, settings, "ingest") is None


def rolled_back(records: Topics, checkpoints: Path) -> ReplayRange:
    """Write the checkpoint of a rollback that replays a partition, and one more record than it holds yet.

    The offsets of the others are those of a topic that was recreated since.
    """
    held = records.retained(Topic.COLLECTED)
    (kept,) = (partition for partition, offsets in held.items() if offsets.end > offsets.first)
    since = {f"collected/{each}": offsets.end + 99 for each, offsets in held.items()}
    since[f"collected/{kept}"] = held[kept].first
    before = {f"collected/{each}": offsets.end + 199 for each, offsets in held.items()}
    before[f"collected/{kept}"] = held[kept].end + 1
    replay = replay_of(by_topic(since), by_topic(before))
    write_checkpoint(FolderCheckpoints(checkpoints), "ingest", since, replay)
    return replay


def marks_of(records: Topics) -> dict[str, str | None]:
    """The replay that each event in `events` names."""
    found = records.all_of(Topic.EVENTS)
    return {
        text(each, h.CE_ID): text(each, h.REPLAY) if h.REPLAY in dict(each.headers() or []) else None
        for each in found
    }


def send_collected(records: Topics, name: str) -> None:
    records.put(Topic.COLLECTED, collected(name), _COLLECTED, _ONE_PARTITION)
    records.flush()


def events_of(records: Topics) -> list[str]:
    return [text(message, h.CE_ID) for message in records.all_of(Topic.EVENTS)]
