"""A rehearsal runs the nodes' own queries and touches none of the side's topics."""

import time
from pathlib import Path

from pyspark.sql import SparkSession

from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import NODE, pipes
from pipelines.data.route.job import build as build_route
from pipelines.data.route.job import prepare as prepare_route
from shared.contracts import headers as h
from shared.contracts.documents import Pipe
from shared.contracts.envelope import collected_item, encode_items
from shared.contracts.heartbeats import Heartbeat, decode
from shared.contracts.topics import REHEARSAL, Topic, rehearsal_specs
from shared.kafka.admin import ensure_topics
from shared.runtime.clock import wall_clock
from shared.runtime.settings import SparkSettings
from tests.harness.topics import Topics
from tests.harness.waiting import eventually
from tests.spark.events import ATTRIBUTES, STAMPS, headers

_COLLECTED = headers({name: STAMPS[name] for name in (h.TENANT, h.SOURCE, h.RECEIVED)})
_SECONDS = 240.0


def _record(name: str) -> bytes:
    return encode_items([collected_item({**ATTRIBUTES, "id": name}, minute=7, data='{"n": 1.10}')])


def test_events_of_a_rehearsal_pass_ingest_and_route_and_customers_events_do_not(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    ensure_topics(topics, rehearsal_specs())
    settings = spark_settings.model_copy(
        update={"bootstrap": topics, "checkpoints": str(tmp_path), "rehearsal": REHEARSAL}
    )
    records = Topics(topics)
    records.publish(Pipe(name="all", tenant="acme", source="player", destination="lake"))
    queries = [build(spark, settings) for build in (build_route, build_ingest)]
    try:
        deadline = time.monotonic() + _SECONDS
        while not records.all_of(REHEARSAL + Topic.OUTBOUND):
            assert time.monotonic() < deadline, [query.status for query in queries]
            records.put(Topic.COLLECTED, _record("a customer's"), _COLLECTED, None)
            records.put(REHEARSAL + Topic.COLLECTED, _record("rehearsed"), _COLLECTED, None)
            records.flush()
            time.sleep(0.5)
    finally:
        for query in queries:
            query.stop()
    for topic in (Topic.EVENTS, Topic.OUTBOUND, Topic.UNMATCHED, Topic.QUARANTINE):
        assert not records.all_of(topic), topic
    arrived = {dict(each.headers() or [])[h.CE_ID] for each in records.all_of(REHEARSAL + Topic.OUTBOUND)}
    assert arrived == {b"rehearsed"}


def test_a_prepared_route_does_not_speak_for_the_query_at_work(
    spark: SparkSession, spark_settings: SparkSettings, topics: str, tmp_path: Path
) -> None:
    settings = spark_settings.model_copy(update={"bootstrap": topics, "checkpoints": str(tmp_path)})
    records = Topics(topics)
    records.publish(Pipe(name="all", tenant="acme", source="player", destination="lake"))
    prepared = prepare_route(spark, settings)
    assert prepared.use_workers is not None
    since_ms = wall_clock()
    prepared.use_workers()
    assert not _said_by_route(records, since_ms)
    assert pipes(spark, settings, speaks=True).collect()
    eventually(lambda: bool(_said_by_route(records, since_ms)))


def _said_by_route(records: Topics, since_ms: int) -> list[Heartbeat]:
    """Reports of this route only: other tests' nodes may still be stopping."""
    beats = [decode(each.value() or b"") for each in records.all_of(Topic.HEARTBEATS)]
    return [each for each in beats if each.node == NODE and each.at_ms >= since_ms]
