"""After records expired during its outage, a query continues with the remaining ones."""

import json
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.control.backends.checkpoints import write_checkpoint
from pipelines.data.ingest.job import build as build_ingest
from scripts.local.twins.folder_checkpoints import FolderCheckpoints
from shared.contracts import headers as h
from shared.contracts.topics import Topic
from shared.runtime.settings import SparkSettings
from shared.spark.starting_offsets import offsets_of_topics, starting_offsets
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


def test_a_node_that_stopped_until_its_records_expired_continues_with_the_rest(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    settings = spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})
    records = Topics(topics)
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
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    settings = spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})
    records = Topics(topics)
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


def send_collected(records: Topics, name: str) -> None:
    records.put(Topic.COLLECTED, collected(name), _COLLECTED, _ONE_PARTITION)
    records.flush()


def events_of(records: Topics) -> list[str]:
    return [text(message, h.CE_ID) for message in records.all_of(Topic.EVENTS)]
