"""Column expressions that the Spark nodes share: record headers, `quarantine` records, RFC 3339 times."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shared.contracts import headers as h
from shared.contracts.envelope import MINUTE_MS
from shared.contracts.limits import MAX_HEADERS_BYTES, MAX_READABLE_BYTES

HEADERS_TYPE: Final = "array<struct<key:string,value:binary>>"
"""Spark type of Kafka headers."""


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
    """A text that names the first required header that is missing or null; null if all are present."""
    checks = (
        fn.when(header_value(headers, names, key).isNull(), fn.lit(f"no header {key}")) for key in required
    )
    return fn.coalesce(*checks)


def oversized(value: Column, headers: Column) -> Column:
    """A text if the record is larger than any that hifi writes; null otherwise."""
    size = fn.coalesce(fn.octet_length(value), fn.lit(0))
    return fn.when(
        size > MAX_READABLE_BYTES,
        fn.format_string("value of %d bytes, cut to %d", size, fn.lit(MAX_READABLE_BYTES)),
    ).when(headers_size(headers) > MAX_HEADERS_BYTES, fn.lit("headers too large, dropped"))


def headers_size(headers: Column) -> Column:
    """Bytes of all header names and values."""
    return fn.octet_length(fn.concat_ws("", headers["key"], headers["value"].cast("array<string>")))


def quarantined_headers(headers: Column, reason: Column) -> Column:
    """Headers of the quarantine record: the original ones, the origin and the reason."""
    origin = fn.concat_ws(
        "/", fn.col("topic"), fn.col("partition").cast("string"), fn.col("offset").cast("string")
    )
    kept = fn.when(headers_size(headers) <= MAX_HEADERS_BYTES, headers)
    none = fn.array().cast(HEADERS_TYPE)
    added = fn.array(text_header(h.REASON, reason), text_header(h.ORIGIN, origin))
    return fn.concat(fn.coalesce(kept, none), added)


def quarantined_value(value: Column) -> Column:
    """Value of the quarantine record: the original one, cut to the largest size."""
    return fn.when(
        fn.octet_length(value) > MAX_READABLE_BYTES, fn.substring(value, 1, MAX_READABLE_BYTES)
    ).otherwise(value)


_OFFSET_CHARACTERS: Final = 6
"""Length of a numeric time zone offset: +01:00."""


def rfc3339_ms(time: Column) -> Column:
    """Epoch milliseconds, rounded down, of an RFC 3339 time as collect accepts it; null for anything else.

    The zone is removed before the cast: Spark would accept names of regions, which it looks up at a
    microsecond a row, and only offsets up to 18 hours, whereas RFC 3339 allows 24.
    """
    text = fn.upper(time)
    zulu = text.endswith("Z")
    local = fn.left(text, fn.length(text) - fn.when(zulu, 1).otherwise(_OFFSET_CHARACTERS))
    return _local_ms(local) - fn.when(zulu, 0).otherwise(_offset_minutes(text)) * MINUTE_MS


def _local_ms(local: Column) -> Column:
    """A leap second counts as the second before it."""
    without_leap = fn.regexp_replace(local, r"(:\d\d):60", r"$1:59")
    return fn.unix_millis(fn.coalesce(local.cast("timestamp"), without_leap.cast("timestamp")))


def _offset_minutes(text: Column) -> Column:
    hours, minutes = fn.substring(text, -5, 2).cast("int"), fn.substring(text, -2, 2).cast("int")
    size = hours * 60 + minutes
    return fn.when(fn.substring(text, -_OFFSET_CHARACTERS, 1) == "-", -size).otherwise(size)
