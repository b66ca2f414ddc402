"""`events` records to `outbound` records: one for each pipe that an event matches.

An event that matches none gets an `unmatched` record, so that the meter can account for it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.route import event_values
from pipelines.data.route.matched_pipes import matched_pipes
from pipelines.data.route.matching_steps import may_be_costly
from pipelines.data.route.schema import REQUIRED_HEADERS
from shared.contracts import headers as h
from shared.contracts.matching_steps import TOO_COSTLY
from shared.contracts.topics import Topic
from shared.matching.sampling import SAMPLE_BUCKETS
from shared.spark.columns import (
    HEADERS_TYPE,
    header_value,
    missing_header,
    oversized,
    quarantined_headers,
    quarantined_value,
    text_header,
)

_UNMATCHED_HEADERS: Final = (h.CE_ID, h.CE_TIME, h.TENANT, h.SOURCE, h.RECEIVED, h.MINUTE)
"""The headers that are kept of an event that no pipe matches."""


def outbound(events: DataFrame, sources: DataFrame) -> DataFrame:
    """Kafka records of `events` to records (key, topic, value, headers) of `outbound`, `unmatched` and
    `quarantine`.

    Args:
        events: with topic, partition, offset, value and headers.
        sources: rows of `schema.SOURCE_ROW`; small, broadcast.
    """
    records = _records(events)
    whose = (records["tenant"] == sources["pipes_tenant"]) & (records["pipes_of"] == sources["pipes_source"])
    joined = records.join(fn.broadcast(sources), whose, "left")
    return _written(_routed(joined))


def _records(events: DataFrame) -> DataFrame:
    """The records with the fault of each, if any, and the headers that routing needs."""
    headers, names = fn.col("headers"), fn.col("names")
    fault = fn.coalesce(oversized(fn.col("value"), headers), missing_header(headers, names, REQUIRED_HEADERS))
    return (
        events.withColumn("headers", fn.coalesce("headers", fn.array().cast(HEADERS_TYPE)))
        .withColumn("names", headers["key"])
        .withColumn("id", header_value(headers, names, h.CE_ID))
        .withColumn("source", header_value(headers, names, h.CE_SOURCE))
        .withColumn("tenant", header_value(headers, names, h.TENANT))
        .withColumn("fault", fault)
        .withColumn("pipes_of", fn.when(fn.col("fault").isNull(), header_value(headers, names, h.SOURCE)))
    )


def _routed(joined: DataFrame) -> DataFrame:
    """A row for each pipe that matches; one without a pipe if none does or the record is faulty."""
    record = ("topic", "partition", "offset", "value", "headers", "id", "source", "tenant")
    values = event_values.attribute_values(fn.col("headers"), fn.col("names"), fn.col("attribute_headers"))
    found, pipes = fn.col("found"), fn.col("found.pipes")
    too_costly = fn.when(found.isNotNull() & pipes.isNull(), fn.lit(TOO_COSTLY))
    return (
        joined.withColumn("bucket", fn.pmod(fn.xxhash64("id"), fn.lit(SAMPLE_BUCKETS)))
        .withColumn("values", values)
        .withColumn("costly", may_be_costly(fn.col("value"), fn.col("steps_per_byte")))
        .select(*record, "fault", fn.when(fn.col("fault").isNull(), matched_pipes()).alias("found"))
        .select(
            *record,
            fn.coalesce("fault", too_costly).alias("fault"),
            pipes.alias("pipes"),
            found["watched"].alias("watched"),
            fn.posexplode_outer(pipes).alias("at", "pipe"),
        )
    )


def _written(routed: DataFrame) -> DataFrame:
    faulty, taken = fn.col("fault").isNotNull(), fn.col("pipe").isNotNull()
    topic = fn.when(faulty, fn.lit(Topic.QUARANTINE.value)).when(taken, fn.lit(Topic.OUTBOUND.value))
    return routed.select(
        fn.when(taken, delivery_key()).alias("key"),
        topic.otherwise(fn.lit(Topic.UNMATCHED.value)).alias("topic"),
        fn.when(taken, fn.col("value")).when(faulty, quarantined_value(fn.col("value"))).alias("value"),
        fn.when(taken, outbound_headers())
        .when(faulty, quarantined_headers(fn.col("headers"), fn.col("fault")))
        .otherwise(unmatched_headers())
        .alias("headers"),
    )


def delivery_key() -> Column:
    """`shared.contracts.envelope.delivery_key` of the row's tenant, pipe and event."""
    return fn.unhex(fn.md5(fn.concat_ws("\0", "tenant", "pipe", "source", "id").cast("binary")))


def outbound_headers() -> Column:
    """The event's headers, the pipe and attempt 1; if several pipes matched, their names too; and what the
    fields held that the pipe watches."""
    added = (text_header(h.PIPE, fn.col("pipe")), text_header(h.ATTEMPT, "1"))
    first = fn.get("pipes", fn.lit(0))
    names = fn.when(fn.col("pipe") == first, fn.array_join("pipes", h.PIPES_SEPARATOR)).otherwise(first)
    several = text_header(h.PIPES, names)
    heads = fn.when(fn.size("pipes") > 1, fn.concat("headers", fn.array(*added, several))).otherwise(
        fn.concat("headers", fn.array(*added))
    )
    seen = fn.get("watched", fn.col("at"))
    return fn.when(seen.isNull(), heads).otherwise(fn.concat(heads, fn.array(text_header(h.WATCHED, seen))))


def unmatched_headers() -> Column:
    """The headers of an `unmatched` record; an event that is processed again keeps its mark."""
    headers, names = fn.col("headers"), fn.col("headers")["key"]
    kept = fn.array(*(text_header(key, header_value(headers, names, key)) for key in _UNMATCHED_HEADERS))
    replay = header_value(headers, names, h.REPLAY)
    return fn.when(replay.isNull(), kept).otherwise(fn.concat(kept, fn.array(text_header(h.REPLAY, replay))))
