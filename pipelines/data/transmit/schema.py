"""Columns between the JVM and the Python workers, and from there to Kafka."""

from typing import Final

import pyarrow as pa

FLAT: Final = ("key", "value", "headers", "topic", "partition", "offset")
"""Columns from `transforms.flatten` to `record_parser.read`; `headers` is a JSON object of texts, or null."""

OUTPUT: Final = "topic string, key binary, value binary, headers array<struct<key: string, value: binary>>"
"""Rows of the Kafka sink, in Spark's words."""

_HEADERS: Final = pa.list_(pa.struct([("key", pa.string()), ("value", pa.binary())]))

OUTPUT_ARROW: Final = pa.schema(
    [("topic", pa.string()), ("key", pa.binary()), ("value", pa.binary()), ("headers", _HEADERS)]
)
"""The same in Arrow's."""
