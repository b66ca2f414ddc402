"""`events` records to `outbound` records: one for each pipe that an event matches.

An event that matches none gets an `unmatched` record, so that the meter can account for it.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.route import matching, watching
from pipelines.data.route.schema import REQUIRED_HEADERS
from shared.contracts import headers as h
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
    pipes = fn.when(fn.col("fault").isNull(), _pipes())
    record = ("topic", "partition", "offset", "value", "headers", "id", "source", "tenant", "fault")
    watched = watching.watched_values(fn.col("value").cast("string"), fn.col("watches")).alias("watched")
    values = matching.attribute_values(fn.col("headers"), fn.col("names"), fn.col("attribute_headers"))
    return (
        joined.withColumn("bucket", fn.pmod(fn.xxhash64("id"), fn.lit(SAMPLE_BUCKETS)))
        .withColumn("values", values)
        .select(*record, pipes.alias("pipes"), watched)
        .select(*record, "pipes", "watched", fn.explode_outer("pipes").alias("pipe"))
    )


def _pipes() -> Column:
    """Names of the pipes that a joined row matches.

    `bucket` and `values` are separate columns because they need no lambda: inside one Spark would interpret
    them. They are used twice here, so that the optimizer does not inline them.
    """
    left = matching.open_alternatives(fn.col("alternatives"), fn.col("bucket"), fn.col("values"))
    data = matching.data_values(fn.col("value").cast("string"), fn.col("data_paths"))
    by_data = matching.computed_once(left, lambda alternatives: matching.matching_pipes(alternatives, data))
    return fn.when(fn.size("data_paths") > 0, by_data).otherwise(fn.array_distinct(left["pipe"]))


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
    seen = fn.try_element_at("watched", fn.col("pipe"))
    return fn.when(seen.isNull(), heads).otherwise(fn.concat(heads, fn.array(text_header(h.WATCHED, seen))))


def unmatched_headers() -> Column:
    """The headers of an `unmatched` record; an event that is processed again keeps its mark."""
    headers, names = fn.col("headers"), fn.col("headers")["key"]
    kept = fn.array(*(text_header(key, header_value(headers, names, key)) for key in _UNMATCHED_HEADERS))
    replay = header_value(headers, names, h.REPLAY)
    return fn.when(replay.isNull(), kept).otherwise(fn.concat(kept, fn.array(text_header(h.REPLAY, replay))))
