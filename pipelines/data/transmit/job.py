"""The wiring: outbound and retry_out in, receipts, retries and dead letters out, in micro-batches."""

import functools

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.transmit.schema import OUTPUT
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.transforms import flatten
from pipelines.data.transmit.worker import transmit
from shared.contracts.topics import Topic
from shared.kafka.resume import starting_offsets
from shared.runtime.settings import SparkSettings
from shared.runtime.spark import MICROBATCH_FETCH_WAIT_MS, microbatch_writer, read_topics
from shared.runtime.workers import keep_workers, own_workers, sign_of_life

NODE = "transmit"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query. Settings of transmit's own come from the environment where `settings` has none."""
    own = settings if isinstance(settings, TransmitSettings) else TransmitSettings(**settings.model_dump())
    topics = (Topic.OUTBOUND, Topic.RETRY_OUT)
    records = read_topics(
        spark,
        own,
        *topics,
        starting=starting_offsets(spark, own, NODE, *topics),
        fetch_wait_ms=MICROBATCH_FETCH_WAIT_MS,
        most_records=own.transmit_batch_events,
    )
    # Few tasks: each costs a fixed time, a Python process, and a reader of the receipts.
    rows = flatten(records).coalesce(own.transmit_tasks)
    own_workers(spark, NODE)
    written = rows.mapInArrow(functools.partial(transmit, own), OUTPUT)
    query = microbatch_writer(written, own, NODE).start()
    keep_workers(query, sign_of_life(spark))
    return query
