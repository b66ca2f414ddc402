"""Outbound records to the flat columns the workers need, in the JVM, where it is cheap."""

from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.data.transmit.schema import FLAT
from shared.contracts import headers as h
from shared.runtime.columns import header_value

_TEXT: Final = {"pipe": h.PIPE, "id": h.CE_ID, "content_type": h.CONTENT_TYPE}
_NUMBERS: Final = {"minute": h.MINUTE, "received": h.RECEIVED, "attempt": h.ATTEMPT, "first_try": h.FIRST_TRY}
_MAX_NAME: Final = 1_000_000  # to the end of the header's name


def flatten(records: DataFrame) -> DataFrame:
    """Kafka records to the columns of schema.FLAT.

    Nothing here raises: what is missing or malformed is null; bytes that are no UTF-8 become U+FFFD, as Arrow
    takes no others. The fewer expressions, the better: Spark plans all of them again for each micro-batch.
    """
    return (
        records.withColumn("names", fn.col("headers.key"))
        .withColumns({column: _text(name) for column, name in _TEXT.items()})
        .withColumns({column: _text(name).try_cast("long") for column, name in _NUMBERS.items()})
        .withColumn("attributes", _attributes())
        .select(*FLAT)
    )


def _text(name: str) -> Column:
    return fn.make_valid_utf8(header_value(fn.col("headers"), fn.col("names"), name))


def _attributes() -> Column:
    """The CloudEvents attributes as a JSON object: `ce_*` without the prefix, and `datacontenttype`."""
    wanted = fn.filter("headers", lambda x: x["key"].startswith(h.CE_PREFIX) & x["value"].isNotNull())
    named = fn.transform(
        wanted,
        lambda x: _pair(
            fn.substring(x["key"], len(h.CE_PREFIX) + 1, _MAX_NAME),
            fn.make_valid_utf8(x["value"].cast("string")),
        ),
    )
    kind = fn.array(_pair(fn.lit("datacontenttype"), fn.col("content_type")))
    none = fn.array().cast("array<struct<name:string,text:string>>")
    pairs = fn.concat(named, fn.when(fn.col("content_type").isNull(), none).otherwise(kind))
    return fn.to_json(fn.map_from_entries(pairs)).cast("binary")


def _pair(name: Column, text: Column) -> Column:
    return fn.struct(name.alias("name"), text.alias("text"))
