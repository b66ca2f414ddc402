"""Parses the items of `collected` records, for ingest and audit.

Nothing here raises: every expression gives null where it fails.
"""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from shared.contracts import headers as h
from shared.contracts.envelope import REQUIRED_ATTRIBUTES
from shared.spark.columns import missing_header, oversized

STAMPS: Final = (h.TENANT, h.SOURCE, h.RECEIVED)
"""Headers of a `collected` record, which each of its events has."""


def unreadable(headers: Column, names: Column) -> Column:
    """Why a record with `value` and these headers cannot be parsed at all; null if it can."""
    return fn.coalesce(
        fn.when(fn.col("value").isNull(), fn.lit("no value")),
        oversized(fn.col("value"), headers),
        missing_header(headers, names, STAMPS),
        fn.when(~fn.is_valid_utf8(fn.col("value").cast("string")), fn.lit("not UTF-8")),
    )


def with_items(records: DataFrame, wanted: Column, item: str) -> DataFrame:
    """The records with their `items`; null if not `wanted` or not a JSON array.

    Args:
        records: with `value`.
        wanted: whether to parse the record.
        item: Spark type of an item; members that are not in it are skipped.
    """
    text = fn.col("value").cast("string")
    read, texts = f"struct<items:array<{item}>,closed:boolean>", "struct<items:array<string>,closed:boolean>"
    return (
        records.withColumn("enclosed", fn.when(wanted, _enclosed(text)))
        .withColumn("read", fn.from_json("enclosed", read))
        .withColumn("texts", fn.from_json(fn.when(fn.col("read.items").isNull(), fn.col("enclosed")), texts))
        .withColumn("items", _items(fn.col("read"), fn.col("texts"), item))
    )


def _enclosed(text: Column) -> Column:
    """The text that should be a JSON array, within an object and with a mark behind it.

    Alone, from_json takes one object for an array of one, and what comes behind for nothing: events would be
    lost. Here neither leaves the mark in its place.
    """
    return fn.concat(fn.lit('{"items":'), text, fn.lit(',"closed":true}'))


def _items(read: Column, texts: Column, item_type: str) -> Column:
    """The items of a JSON array; null if the text is not one.

    One parse does for all that collect writes. An array with an item that is not an object is null as a
    whole to from_json, so its items are then read one by one, from their `texts`.
    """
    one_by_one = fn.transform(_closed(texts), lambda item: fn.from_json(item, item_type))
    return fn.coalesce(_closed(read), one_by_one)


def _closed(read: Column) -> Column:
    return fn.when(read["closed"], read["items"])


def items_fault(items: Column) -> Column:
    """The fault of the first item that is not an event; null if all are and there is at least one."""
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
    """The first fault of an item; null if it is an event."""
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
    return item["data_base64"].isNull() | binary(item).isNotNull()


def binary(item: Column) -> Column:
    """The bytes of `data_base64`; null if there are none."""
    return fn.try_to_binary(item["data_base64"], fn.lit("base64"))
