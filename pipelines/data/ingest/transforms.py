"""`collected` records to `events` records: explode the array, turn attributes into headers.

What cannot be read goes to `quarantine` as the whole record, once, whatever is wrong with it; the good items
beside a bad one go on. Nothing here raises: every expression gives null for what it cannot do.
"""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.ingest.schema import COLLECTED_ITEM, COLLECTED_ITEMS, REQUIRED_ATTRIBUTES
from shared.contracts import headers as h
from shared.contracts.envelope import SPEC_VERSION
from shared.contracts.topics import Topic
from shared.runtime.columns import (
    HEADERS_TYPE,
    header_value,
    missing_header,
    oversized,
    quarantined_headers,
    quarantined_value,
    text_header,
)

_COPIED: Final = (h.TENANT, h.SOURCE, h.RECEIVED)
"""Headers of the `collected` record that each of its events takes along."""


def events(collected: DataFrame) -> DataFrame:
    """Kafka records of `collected` to records (topic, value, headers) of `events` and `quarantine`."""
    return _written(_items(_records(collected)))


def _records(collected: DataFrame) -> DataFrame:
    """The records, with what is wrong with each as a whole, and its items if nothing is."""
    headers = fn.coalesce("headers", fn.array().cast(HEADERS_TYPE))
    text = fn.col("value").cast("string")
    fault = fn.coalesce(
        fn.when(fn.col("value").isNull(), fn.lit("no value")),
        oversized(fn.col("value"), fn.col("headers")),
        missing_header(fn.col("names"), _COPIED),
        fn.when(~fn.is_valid_utf8(text), fn.lit("not UTF-8")),
        fn.when(~fn.endswith(text, fn.lit("]")), fn.lit("not a JSON array")),
    )
    return (
        collected.withColumn("headers", headers)
        .withColumn("names", fn.col("headers")["key"])
        .withColumn("fault", fault)
        .withColumn("items", fn.when(fn.col("fault").isNull(), parsed_items(text)))
        .withColumn("copied", _copied_headers(fn.col("headers"), fn.col("names")))
    )


def parsed_items(text: Column) -> Column:
    """The items of a JSON array; null if it is none.

    One parse does for all that collect writes. An array with an item that is no object is null as a whole
    to from_json, so its items are then read one by one.
    """
    texts = fn.from_json(text, "array<string>")
    one_by_one = fn.transform(texts, lambda item: fn.from_json(item, COLLECTED_ITEM))
    return fn.coalesce(fn.from_json(text, COLLECTED_ITEMS), one_by_one)


def _copied_headers(headers: Column, names: Column) -> Column:
    return fn.array(*(text_header(key, header_value(headers, names, key)) for key in _COPIED))


def _items(records: DataFrame) -> DataFrame:
    """A row per item, or one row without an item where a record has none."""
    kept = ("topic", "partition", "offset", "value", "headers", "copied", "items")
    rows = records.select(*kept, fn.col("fault").alias("record_fault"), fn.posexplode_outer("items"))
    fault = fn.coalesce(
        fn.col("record_fault"),
        fn.when(fn.col("pos").isNull(), fn.lit("not a JSON array of events")),
        fn.when(
            item_fault(fn.col("col")).isNotNull(),
            fn.concat(fn.lit("item "), fn.col("pos"), fn.lit(": "), item_fault(fn.col("col"))),
        ),
    )
    return rows.withColumn("fault", fault)


def item_fault(item: Column) -> Column:
    """A sentence on what an item lacks; null if it is an event."""
    attributes = item["attributes"]
    missing = (
        fn.when(fn.try_element_at(attributes, fn.lit(name)).isNull(), fn.lit(f"no {name}"))
        for name in REQUIRED_ATTRIBUTES
    )
    return fn.coalesce(
        fn.when(attributes.isNull(), fn.lit("no attributes")),
        *missing,
        fn.when(item["minute"].isNull(), fn.lit("no minute")),
        fn.when(
            item["data_base64"].isNotNull() & _binary(item).isNull(), fn.lit("data_base64 is not base64")
        ),
    )


def _binary(item: Column) -> Column:
    return fn.try_to_binary(item["data_base64"], fn.lit("base64"))


def _written(items: DataFrame) -> DataFrame:
    """Topic, value and headers of each row. Of a record's bad items the first speaks for all."""
    good = fn.col("fault").isNull()
    earlier = fn.slice("items", 1, "pos")
    repeated = fn.exists(earlier, lambda item: item_fault(item).isNotNull())
    first = ~fn.coalesce(repeated, fn.lit(False))
    return items.where(fn.when(good, fn.lit(True)).otherwise(first)).select(
        fn.when(good, fn.lit(Topic.EVENTS.value)).otherwise(fn.lit(Topic.QUARANTINE.value)).alias("topic"),
        fn.when(good, event_data(fn.col("col"))).otherwise(quarantined_value(fn.col("value"))).alias("value"),
        fn.when(good, event_headers(fn.col("col"), fn.col("copied")))
        .otherwise(quarantined_headers(fn.col("headers"), fn.col("fault")))
        .alias("headers"),
    )


def event_data(item: Column) -> Column:
    """The bytes of `data` exactly; null for an event without."""
    return fn.coalesce(item["data"].cast("binary"), _binary(item))


def event_headers(item: Column, copied: Column) -> Column:
    """CloudEvents attributes as the Kafka binding maps them, and hifi's own."""
    attributes = fn.transform(
        fn.map_entries(item["attributes"]),
        lambda entry: fn.struct(
            attribute_header(entry["key"]).alias("key"), entry["value"].cast("binary").alias("value")
        ),
    )
    stamped = fn.array(
        text_header(h.CE_PREFIX + "specversion", SPEC_VERSION), text_header(h.MINUTE, item["minute"])
    )
    return fn.concat(stamped, attributes, copied)


def attribute_header(name: Column) -> Column:
    """`shared.contracts.headers.attribute_header` of a column."""
    return fn.when(name == "datacontenttype", fn.lit(h.CONTENT_TYPE)).otherwise(
        fn.concat(fn.lit(h.CE_PREFIX), name)
    )
