"""Column expressions that the Spark nodes share: record headers, and the way into `quarantine`."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shared.contracts import headers as h
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
"""Kafka headers, as Spark's source gives and its sink takes them."""


def header_value(headers: Column, names: Column, key: Column | str) -> Column:
    """The value of the first header `key` as text, or null. `names` is `headers.key`.

    `array_position` and `get` compile to plain loops, which a lambda over the headers does not.
    """
    wanted = fn.lit(key) if isinstance(key, str) else key
    at = (fn.array_position(names, wanted) - 1).cast("int")
    return fn.get(headers, at)["value"].cast("string")


def text_header(key: str, text: Column | str) -> Column:
    """One header with a text value."""
    value = fn.lit(text) if isinstance(text, str) else text
    return fn.struct(fn.lit(key).alias("key"), value.cast("string").cast("binary").alias("value"))


def missing_header(headers: Column, names: Column, required: tuple[str, ...]) -> Column:
    """A sentence that names the first required header that is not there, or is null; null if all are."""
    checks = (
        fn.when(header_value(headers, names, key).isNull(), fn.lit(f"no header {key}")) for key in required
    )
    return fn.coalesce(*checks)


def oversized(value: Column, headers: Column) -> Column:
    """A sentence if the record is larger than any node writes; null otherwise."""
    size = fn.coalesce(fn.octet_length(value), fn.lit(0))
    return fn.when(
        size > MAX_READABLE_BYTES,
        fn.format_string("value of %d bytes, cut to %d", size, fn.lit(MAX_READABLE_BYTES)),
    ).when(headers_size(headers) > MAX_HEADERS_BYTES, fn.lit("headers too large, dropped"))


def headers_size(headers: Column) -> Column:
    """Bytes of all header names and values."""
    return fn.octet_length(fn.concat_ws("", headers["key"], headers["value"].cast("array<string>")))


def quarantined_headers(headers: Column, reason: Column) -> Column:
    """The record's headers, where it came from, and why it was set aside."""
    origin = fn.concat_ws(
        "/", fn.col("topic"), fn.col("partition").cast("string"), fn.col("offset").cast("string")
    )
    kept = fn.when(headers_size(headers) <= MAX_HEADERS_BYTES, headers)
    none = fn.array().cast(HEADERS_TYPE)
    added = fn.array(text_header(h.REASON, reason), text_header(h.ORIGIN, origin))
    return fn.concat(fn.coalesce(kept, none), added)


def quarantined_value(value: Column) -> Column:
    """The record's bytes, as many as a record may have."""
    return fn.when(
        fn.octet_length(value) > MAX_READABLE_BYTES, fn.substring(value, 1, MAX_READABLE_BYTES)
    ).otherwise(value)
