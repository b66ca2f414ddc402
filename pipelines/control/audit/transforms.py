"""Turns records of the tallied topics into rows: one per event in a record, or an empty one.

Nothing here raises: every expression gives null where it fails. `stages` assigns the stage, which follows
from the topic, because Spark compiles all of `_flat` into one method. Java's compiler skips methods over
8,000 bytes, and it would then be four times as slow.
"""

from functools import reduce
from operator import and_
from typing import Final

from pyspark.sql import Column, DataFrame
from pyspark.sql import functions as fn

from pipelines.control.audit.schema import ITEM, PLACE, RECEIPT, ROWS, WATCHED
from shared.contracts import headers as h
from shared.contracts.stages import COPY_ELSE, COPY_RULES, HEADER_TOPICS, CopyFact
from shared.contracts.topics import Topic
from shared.spark.collected_columns import readable, unreadable, with_items
from shared.spark.columns import HEADERS_TYPE, header_value, rfc3339_ms
from shared.spark.tracing import is_sampled

_TEXTS: Final = {
    "tenant": h.TENANT,
    "source": h.SOURCE,
    "id": h.CE_ID,
    "time": h.CE_TIME,
    "pipe": h.PIPE,
    "pipes": h.PIPES,
    "letter": h.LETTER,
    "dead_reason": h.REASON,
    "origin": h.ORIGIN,
    "replay": h.REPLAY,
    "traceparent": h.TRACEPARENT,
}
_NUMBERS: Final = {
    "minute": h.MINUTE,
    "received_ms": h.RECEIVED,
    "due_ms": h.NOT_BEFORE,
    "dead_status": h.STATUS,
}
_OF_RECEIPT: Final = ("destination", "breaker", "lane", "departed_ms")
_REQUIRED: Final = ("id", "tenant", "minute", "received_ms")
"""Columns that every event has."""


def rows(records: DataFrame) -> DataFrame:
    """Kafka records of any tallied topic to the columns of `schema.ROWS`."""
    return _flat(_exploded(_read(records)))


def _read(records: DataFrame) -> DataFrame:
    """Parses each record: its headers, and the items of a `collected` record or the receipt.

    A header may hold any bytes, of which the cast to text keeps what is not UTF-8, and Python would raise:
    it becomes U+FFFD here, as observe reads it. `from_json` does the same.
    """
    headers, names = fn.col("headers"), fn.col("names")
    named = (
        records.withColumn("headers", fn.coalesce("headers", fn.array().cast(HEADERS_TYPE)))
        .withColumn("names", headers["key"])
        .withColumn("timestamp_ms", fn.unix_millis("timestamp"))
    )
    collected = fn.col("topic") == Topic.COLLECTED.value
    receipts = fn.col("topic") == Topic.RECEIPTS.value
    parsed = with_items(named, collected & unreadable(headers, names).isNull(), ITEM)
    receipt = fn.from_json(fn.when(receipts, fn.col("value").cast("string")), RECEIPT)
    watched = fn.from_json(_header(h.WATCHED), WATCHED).alias("watched")
    texts = (fn.make_valid_utf8(_header(key)).alias(column) for column, key in _TEXTS.items())
    numbers = (_header(key).cast("bigint").alias(column) for column, key in _NUMBERS.items())
    return parsed.select(*PLACE, "items", receipt.alias("receipt"), watched, *texts, *numbers)


def _header(key: str) -> Column:
    """The text of a header, where it matters: finding that it is absent costs a look at each header."""
    value = header_value(fn.col("headers"), fn.col("names"), key)
    topics = HEADER_TOPICS.get(key)
    return fn.when(fn.col("topic").isin([topic.value for topic in topics]), value) if topics else value


def _exploded(read: DataFrame) -> DataFrame:
    """A row for each event; `at` is its index in the record, null if the record has one event or none.

    A first copy has a row for itself, and one for each further pipe that it names.
    """
    outbound = (fn.col("topic") == Topic.OUTBOUND.value) & fn.col("letter").isNull()
    pipes = fn.when(outbound, fn.split("pipes", h.PIPES_SEPARATOR))
    further = pipes[0] != fn.col("pipe")
    size = fn.greatest(fn.size("items"), fn.size("claims"), fn.size("receipt.ids"))  # of null: -1
    places = fn.when(size > 0, fn.sequence(fn.lit(0), size - 1))
    return (
        read.withColumn("further", further)
        .withColumn("claims", fn.when(~further, pipes))
        .select("*", fn.explode_outer(places).alias("at"))
    )


def _flat(exploded: DataFrame) -> DataFrame:
    """The columns of schema.ROWS."""
    known = reduce(and_, (fn.col(each).isNotNull() for each in _REQUIRED), fn.col("known"))
    columns = {
        "id_hash": fn.when(known, fn.xxhash64("id")),
        "time_ms": fn.coalesce("since_ms", rfc3339_ms(fn.col("time"))),
        "traced_id": fn.when(fn.col("traceparent").isNotNull() | is_sampled(fn.col("id")), fn.col("id")),
    }
    return _fields_of_event(exploded).select(
        *(columns[name].alias(name) if name in columns else name for name in ROWS)
    )


def _fields_of_event(exploded: DataFrame) -> DataFrame:
    """The fields of each row's event, from its item, its entry in the receipt, or its record.

    This is a separate projection because the columns are used several times and would be computed as often.
    """
    at, receipt = fn.col("at"), fn.col("receipt")
    first_row = fn.coalesce(at, fn.lit(0)) == 0
    item = fn.col("items")[at]
    columns = {
        "id": fn.coalesce(item["id"], receipt["ids"][at], fn.col("id")),
        "tenant": fn.coalesce(receipt["tenant"], fn.col("tenant")),
        "minute": fn.coalesce(item["minute"], receipt["minutes"][at], fn.col("minute")),
        "received_ms": fn.coalesce(receipt["received_ms"][at], fn.col("received_ms")),
        "time": fn.coalesce(item["time"], fn.col("time")),
        "since_ms": receipt["since_ms"][at],
        "kind": fn.coalesce(receipt["result"], _copy(at)),
        "name": _name(at),
        "watched": fn.coalesce(fn.when(first_row, fn.col("watched")), fn.array().cast(WATCHED)),
        "status": fn.coalesce(receipt["status"], fn.col("dead_status")),
        "reason": fn.substring_index(fn.coalesce(receipt["reason"], fn.col("dead_reason")), ":", 1),
        "replay": fn.coalesce(receipt["replay"], fn.col("replay")),
        "known": item.isNull() | readable(item),
        "traceparent": fn.coalesce(
            item["headers"][h.TRACEPARENT],
            fn.try_element_at(receipt["traces"], receipt["ids"][at]),
            fn.col("traceparent"),
        ),
        **{each: receipt[each] for each in _OF_RECEIPT},
    }
    return exploded.select(*PLACE, "due_ms", *(column.alias(name) for name, column in columns.items()))


def _copy(at: Column) -> Column:
    """Which of an event's copies in `outbound` it is; said of any record."""
    facts = {
        CopyFact.LETTER: fn.col("letter").isNotNull(),
        CopyFact.OTHER_FIRST: fn.col("further"),
        CopyFact.LATER: at > 0,
    }
    (fact, stage), *others = COPY_RULES
    kind = fn.when(facts[fact], stage.value)
    for other, other_stage in others:
        kind = kind.when(facts[other], other_stage.value)
    return kind.otherwise(COPY_ELSE.value)


def _name(at: Column) -> Column:
    """The topic that a quarantined record was in, the pipe, or the source of a collected event."""
    return fn.coalesce(
        fn.substring_index("origin", "/", 1),
        fn.col("receipt.pipe"),
        fn.col("claims")[at],
        fn.col("pipe"),
        fn.when(fn.col("items").isNotNull(), fn.col("source")),
    )
