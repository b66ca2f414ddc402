"""Kafka rows as the Spark source gives them, for tests of the nodes' DataFrame functions."""

from collections.abc import Callable, Iterable, Mapping, Sequence
from typing import Any, Final

from pyspark.sql import DataFrame, Row, SparkSession

from shared.contracts.headers import ORIGIN, attribute_header
from shared.contracts.topics import Topic

Headers = list[tuple[str, str | bytes | None]]
"""Headers as confluent-kafka takes them."""

KAFKA_ROW = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key:string,value:binary>>"
)
STAMPS = {
    "hifi_tenant": "acme",
    "hifi_source": "player",
    "hifi_received": "1767225600123",
    "hifi_minute": "29453760",
}
ATTRIBUTES = {"id": "e-1", "source": "/players/7", "type": "heartbeat", "time": "2026-01-01T00:00:00Z"}


def headers(texts: Mapping[str, str]) -> Headers:
    """Headers as Kafka has them, from text."""
    return [(key, text.encode()) for key, text in texts.items()]


def event_headers(attributes: Mapping[str, str] = ATTRIBUTES, **stamps: str) -> Headers:
    """Headers of an `events` record; keyword arguments replace hifi's own."""
    named = {attribute_header(name): text for name, text in attributes.items()}
    return headers({"ce_specversion": "1.0", **named, **STAMPS, **stamps})


Given = tuple[bytes | None, Headers | None]
"""Value and headers of a record."""

_BETWEEN: Final = 99
"""The partition of the records that separate cases."""


def by_case(
    spark: SparkSession,
    topic: Topic,
    cases: Sequence[Sequence[Given]],
    node: Callable[[DataFrame], DataFrame],
) -> list[list[Row]]:
    """The rows that a node makes of each case's records, with offsets from 0 on; one job for all of them.

    After each case comes an empty record, which the node puts in quarantine: rows keep their order.
    """
    rows: list[tuple[Any, ...]] = []
    for number, case in enumerate(cases):
        rows += [(None, value, topic.value, 0, offset, heads) for offset, (value, heads) in enumerate(case)]
        rows.append((None, None, topic.value, _BETWEEN, number, None))
    found: list[list[Row]] = [[]]
    for row in node(one_partition(spark, rows, KAFKA_ROW)).collect():
        if header_map(row).get(ORIGIN, "").startswith(f"{topic}/{_BETWEEN}/"):
            found.append([])
        else:
            found[-1].append(row)
    assert len(found) == len(cases) + 1
    return found[:-1]


def kafka_rows(spark: SparkSession, topic: str, records: Iterable[Given]) -> DataFrame:
    """Records of one partition of a topic, with offsets from 0."""
    rows = [(None, value, topic, 0, offset, heads) for offset, (value, heads) in enumerate(records)]
    return one_partition(spark, rows, KAFKA_ROW)


def one_partition(spark: SparkSession, rows: Iterable[tuple[Any, ...]], schema: str) -> DataFrame:
    """Rows as one task: the session has many slots, and a task costs more than a row."""
    return spark.createDataFrame(list(rows), schema).coalesce(1)


def header_map(row: Row) -> dict[str, Any]:
    """A row's headers as text, without those that have no value."""
    return {
        h["key"]: bytes(h["value"]).decode("utf-8", "replace")
        for h in row["headers"]
        if h["value"] is not None
    }
