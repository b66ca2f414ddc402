"""Columns between the JVM and the Python workers, and from there to Kafka."""

from typing import Final

import pyarrow as pa

FLAT: Final = (
    "key",
    "value",
    "headers",
    "topic",
    "partition",
    "offset",
    "pipe",
    "id",
    "minute",
    "received",
    "attempt",
    "first_try",
    "attributes",
    "content_type",
)
"""What `transforms.flatten` gives and `reading.read` takes; null where a header is missing or no number."""

OUTPUT: Final = "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>"
"""Rows of the Kafka sink, in Spark's words."""

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

OUTPUT_ARROW: Final = pa.schema(
    [("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("headers", _HEADERS)]
)
"""The same in Arrow's."""
