"""RFC 3339 texts to epoch milliseconds, as a native Column: what collect's own parser says of them."""

from typing import Final

from pyspark.sql import Column
from pyspark.sql import functions as fn

from shared.contracts.envelope import MINUTE_MS

_OFFSET: Final = 6
"""Characters of a numeric offset: +01:00."""


def time_ms(time: Column) -> Column:
    """Epoch milliseconds, rounded down, of a time that collect takes; null for what is none.

    The zone is cut off first: to Spark's cast it may be any name of a region, which it looks up at a
    microsecond a row, and an offset ends at 18 hours, whereas RFC 3339's go on to 24.
    """
    text = fn.upper(time)
    zulu = text.endswith("Z")
    local = fn.left(text, fn.length(text) - fn.when(zulu, 1).otherwise(_OFFSET))
    return _moment_ms(local) - fn.when(zulu, 0).otherwise(_offset_minutes(text)) * MINUTE_MS


def _moment_ms(local: Column) -> Column:
    """A leap second counts as the second before it."""
    without_leap = fn.regexp_replace(local, r"(:\d\d):60", r"$1:59")
    return fn.unix_millis(fn.coalesce(local.cast("timestamp"), without_leap.cast("timestamp")))


def _offset_minutes(text: Column) -> Column:
    hours, minutes = fn.substring(text, -5, 2).cast("int"), fn.substring(text, -2, 2).cast("int")
    size = hours * 60 + minutes
    return fn.when(fn.substring(text, -_OFFSET, 1) == "-", -size).otherwise(size)
