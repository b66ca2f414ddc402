"""`collected` records to `events` records: explode the array, turn attributes into headers.

What cannot be read goes to `quarantine` as the whole record, once, whatever is wrong with it; the good items
beside a bad one go on. Nothing here raises: every expression gives null for what it cannot do.
"""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.ingest.schema import COLLECTED_ITEM, COLLECTED_ITEMS, ENCLOSED_ITEMS, ENCLOSED_TEXTS
from shared.contracts import headers as h
from shared.contracts.envelope import REQUIRED_ATTRIBUTES, SPEC_VERSION
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
    return _written(_exploded(_parsed(collected)))


def _parsed(collected: DataFrame) -> DataFrame:
    """Per record: its items, if it can be read at all, and what is wrong with it, if anything is."""
    headers, names, text = fn.col("headers"), fn.col("names"), fn.col("value").cast("string")
    unreadable = fn.coalesce(
        fn.when(fn.col("value").isNull(), fn.lit("no value")),
        oversized(fn.col("value"), headers),
        missing_header(headers, names, _COPIED),
        fn.when(~fn.is_valid_utf8(text), fn.lit("not UTF-8")),
    )
    return (
        collected.withColumn("headers", fn.coalesce("headers", fn.array().cast(HEADERS_TYPE)))
        .withColumn("names", headers["key"])
        .withColumn("unreadable", unreadable)
        .withColumn("enclosed", fn.when(fn.col("unreadable").isNull(), enclosed(text)))
        .withColumn("read", fn.from_json("enclosed", ENCLOSED_ITEMS))
        .withColumn(
            "texts", fn.from_json(fn.when(fn.col("read.items").isNull(), fn.col("enclosed")), ENCLOSED_TEXTS)
        )
        .withColumn("items", items(fn.col("read"), fn.col("texts")))
        .withColumn("fault", fn.coalesce("unreadable", items_fault(fn.col("items"))))
        .withColumn(
            "copied", fn.array(*(text_header(key, header_value(headers, names, key)) for key in _COPIED))
        )
    )


def enclosed(text: Column) -> Column:
    """What should be a JSON array, within an object and with a mark behind it.

    Alone, from_json takes one object for an array of one, and what comes behind for nothing: events would be
    lost. Here neither leaves the mark in its place.
    """
    return fn.concat(fn.lit('{"items":'), text, fn.lit(',"closed":true}'))


def items(read: Column, texts: Column) -> Column:
    """The items of a JSON array; null if it is none.

    One parse does for all that collect writes. An array with an item that is no object is null as a whole
    to from_json, so its items are then read one by one, from their `texts`.
    """
    one_by_one = fn.transform(_closed(texts), lambda item: fn.from_json(item, COLLECTED_ITEM))
    return fn.coalesce(_closed(read), one_by_one)


def _closed(read: Column) -> Column:
    return fn.when(read["closed"], read["items"])


def items_fault(items: Column) -> Column:
    """A sentence on the first item that is no event; null if all are, and there is one at least."""
    sentences = fn.transform(
        items, lambda item, at: fn.concat(fn.lit("item "), at, fn.lit(": "), item_fault(item))
    )
    return fn.when(fn.coalesce(fn.size(items), fn.lit(0)) < 1, fn.lit("not a JSON array of events")).when(
        ~all_readable(items), fn.get(fn.array_compact(sentences), fn.lit(0))
    )


def all_readable(items: Column) -> Column:
    """Whether `item_fault` is null for every item.

    No lambda looks at each item: Spark interprets those, at 3 us an event. `array_contains` of a value that
    is not there is null, not false, where the array has a null.
    """
    complete = (fn.array_contains(items[name], "").isNotNull() for name in REQUIRED_ATTRIBUTES)
    minutes = fn.array_contains(items["minute"], fn.lit(-1).cast("bigint")).isNotNull()
    no_binary = fn.size(fn.array_compact(items["data_base64"])) == 0
    return reduce(and_, complete, minutes) & (no_binary | fn.forall(items, _data_readable))


def item_fault(item: Column) -> Column:
    """A sentence on what an item lacks; null if it is an event."""
    missing = (fn.when(item[name].isNull(), fn.lit(f"no {name}")) for name in REQUIRED_ATTRIBUTES)
    return fn.coalesce(
        *missing,
        fn.when(item["minute"].isNull(), fn.lit("no minute")),
        fn.when(~_data_readable(item), fn.lit("data_base64 is not base64")),
    )


def readable(item: Column) -> Column:
    """Whether `item_fault` is null."""
    required = (item[name].isNotNull() for name in REQUIRED_ATTRIBUTES)
    return reduce(and_, required, item["minute"].isNotNull()) & _data_readable(item)


def _data_readable(item: Column) -> Column:
    return item["data_base64"].isNull() | _binary(item).isNotNull()


def _binary(item: Column) -> Column:
    return fn.try_to_binary(item["data_base64"], fn.lit("base64"))


def _exploded(parsed: DataFrame) -> DataFrame:
    """A row per good item, and before them one with the `whole` record where there is a fault.

    The whole record stands beside no item: Spark copies each row, so it would be copied with each of them.
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
    """The bytes of `data` exactly; null for an event without."""
    return fn.coalesce(item["data"].cast("binary"), _binary(item))


def event_headers(item: Column, copied: Column) -> Column:
    """CloudEvents attributes as the Kafka binding maps them, and hifi's own."""
    stamped = fn.array(
        text_header(h.CE_PREFIX + "specversion", SPEC_VERSION),
        *(text_header(h.attribute_header(name), item[name]) for name in REQUIRED_ATTRIBUTES),
        text_header(h.MINUTE, item["minute"]),
    )
    others = fn.coalesce(fn.map_entries(item["headers"]).cast(HEADERS_TYPE), fn.array().cast(HEADERS_TYPE))
    return fn.concat(stamped, others, copied)
