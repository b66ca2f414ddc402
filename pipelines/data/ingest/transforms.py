"""`collected` records to `events` records: explodes the array and turns attributes into headers.

A record with unreadable items goes to `quarantine` as a whole, once; its readable items become events all the
same. Nothing here raises: every expression gives null where it fails.
"""

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.ingest.schema import COLLECTED_ITEM, COLLECTED_ITEMS
from shared.contracts import headers as h
from shared.contracts.envelope import REQUIRED_ATTRIBUTES, SPEC_VERSION
from shared.contracts.replay_range import ReplayRange
from shared.contracts.topics import Topic
from shared.spark.collected_columns import STAMPS, binary, items_fault, readable, unreadable, with_items
from shared.spark.columns import (
    HEADERS_TYPE,
    header_value,
    quarantined_headers,
    quarantined_value,
    text_header,
)
from shared.spark.tracing import is_sampled, own_traceparent


def events(collected: DataFrame, replay: ReplayRange | None = None) -> DataFrame:
    """Kafka records of `collected` to records (topic, value, headers) of `events` and `quarantine`.

    Args:
        collected: with topic, partition, offset, value and headers.
        replay: what of it is processed again, and marked.
    """
    return _written(_exploded(_parsed(collected, replay)))


def _parsed(collected: DataFrame, replay: ReplayRange | None) -> DataFrame:
    """Each record with its items, if it is readable, and its fault, if it has one."""
    headers, names = fn.col("headers"), fn.col("names")
    read = collected.withColumn("headers", fn.coalesce("headers", fn.array().cast(HEADERS_TYPE)))
    mark = None if replay is None else replay_mark(replay)
    marked = read if mark is None else read.withColumn("headers", fn.concat("headers", mark))
    stamps = fn.array(*(text_header(key, header_value(headers, names, key)) for key in STAMPS))
    records = marked.withColumn("names", headers["key"]).withColumn("unreadable", unreadable(headers, names))
    return (
        with_items(records, fn.col("unreadable").isNull(), COLLECTED_ITEM)
        .withColumn("fault", fn.coalesce("unreadable", items_fault(fn.col("items"))))
        .withColumn("copied", stamps if mark is None else fn.concat(stamps, mark))
    )


def replay_mark(replay: ReplayRange) -> Column:
    """The header of a record that is processed again, in an array; an empty array for any other."""
    mark, none = fn.array(text_header(h.REPLAY, replay.name)), fn.array().cast(HEADERS_TYPE)
    return fn.when(_is_replayed(replay), mark).otherwise(none)


def _is_replayed(replay: ReplayRange) -> Column:
    """Partitions without records to mark have none; the comparison is then null."""
    found = fn.lit(False)
    for topic, ends in replay.before.items():
        last = max(map(int, ends), default=-1)
        before = fn.array(*(fn.lit(ends.get(str(each), 0)).cast("bigint") for each in range(last + 1)))
        below = fn.col("offset") < fn.get(before, fn.col("partition"))
        found = found | ((fn.col("topic") == topic) & below)
    return fn.coalesce(found, fn.lit(False))


def _exploded(parsed: DataFrame) -> DataFrame:
    """A row for each readable item; a faulty record adds a first row with the `whole` record.

    The whole record is in a row without an item: otherwise Spark would copy it for every item.
    """
    whole = fn.struct(
        quarantined_value(fn.col("value")).alias("value"),
        quarantined_headers(fn.col("headers"), fn.col("fault")).alias("headers"),
    )
    faulty = fn.col("fault").isNotNull()
    good = fn.coalesce(fn.filter("items", readable), fn.array().cast(COLLECTED_ITEMS))
    no_item = fn.array(fn.lit(None).cast(COLLECTED_ITEM))
    items = fn.when(faulty, fn.concat(no_item, good)).otherwise(fn.col("items"))
    wholes = fn.filter(fn.array(fn.when(faulty, whole)), lambda record: record.isNotNull())
    zipped = fn.arrays_zip(items.alias("item"), wholes.alias("whole"))
    return parsed.select("copied", fn.explode(zipped).alias("row")).select("copied", "row.item", "row.whole")


def _written(rows: DataFrame) -> DataFrame:
    """Topic, value and headers of each row."""
    whole, item = fn.col("whole"), fn.col("item")
    good = whole.isNull()
    return rows.select(
        fn.when(good, fn.lit(Topic.EVENTS.value)).otherwise(fn.lit(Topic.QUARANTINE.value)).alias("topic"),
        fn.when(good, event_data(item)).otherwise(whole["value"]).alias("value"),
        fn.when(good, event_headers(item, fn.col("copied"))).otherwise(whole["headers"]).alias("headers"),
    )


def event_data(item: Column) -> Column:
    """The exact bytes of `data`; null for an event without data."""
    return fn.coalesce(item["data"].cast("binary"), binary(item))


def event_headers(item: Column, copied: Column) -> Column:
    """CloudEvents attributes as the Kafka protocol binding maps them, and hifi's own headers."""
    stamped = fn.array(
        text_header(h.CE_PREFIX + "specversion", SPEC_VERSION),
        *(text_header(h.attribute_header(name), item[name]) for name in REQUIRED_ATTRIBUTES),
        text_header(h.MINUTE, item["minute"]),
    )
    others = fn.coalesce(fn.map_entries(item["headers"]).cast(HEADERS_TYPE), fn.array().cast(HEADERS_TYPE))
    return fn.concat(stamped, others, copied, _trace_header(item, copied))


def _trace_header(item: Column, copied: Column) -> Column:
    """The traceparent of an event that hifi samples, if its client sent none; otherwise nothing."""
    tenant = header_value(copied, copied["key"], h.TENANT)
    own = text_header(h.TRACEPARENT, own_traceparent(tenant, item["id"]))
    without = fn.try_element_at(item["headers"], fn.lit(h.TRACEPARENT)).isNull()
    none = fn.array().cast(HEADERS_TYPE)
    return fn.when(is_sampled(item["id"]) & without, fn.array(own)).otherwise(none)
