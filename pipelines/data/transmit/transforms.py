"""Flattens outbound records to the columns that the workers need."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.transmit.schema import FLAT

_TEXTS: Final = "map<string,string>"


def flatten(records: DataFrame) -> DataFrame:
    """Kafka records to the columns of `schema.FLAT`.

    Nothing here raises. All headers travel as one JSON text: planning and compiling a column for each would
    cost Spark more, in each micro-batch, than the workers need for parsing.
    """
    return records.withColumn("headers", _json()).select(*FLAT)


def _json() -> Column:
    """The headers as a JSON object, null values left out, the last of a name kept; null if there are none.

    Bytes that are not UTF-8 become U+FFFD: every header that hifi writes is text.
    """
    return fn.to_json(fn.map_from_entries("headers").cast(_TEXTS)).cast("binary")
