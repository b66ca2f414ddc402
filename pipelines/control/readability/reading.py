"""Lets the functions of the nodes read records that another version wrote, as they do when it runs."""

import itertools
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Final

import msgspec
from pyspark.sql import DataFrame, SparkSession

from pipelines.control.readability.answer import Reading
from pipelines.control.readability.recording import Recorded, Recording, by_topic
from pipelines.data.ingest.transforms import events
from pipelines.data.route.config_rows import valid_pipes
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from pipelines.data.transmit.delivery.record_parser import read as parsed
from pipelines.data.transmit.events import Poison
from pipelines.data.transmit.transforms import flatten
from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.documents import Catalogue, Entry, Pipe, decode_entry
from shared.contracts.topics import Topic
from shared.contracts.topology import INPUTS, READERS

_ROW: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key:string,value:binary>>"
)
"""Records as Spark's Kafka source gives them."""

_MOST_SENTENCES: Final = 8
"""An answer has to fit into the 4,096 bytes of a pod's termination message."""


def reading(spark: SparkSession, recorded: Recording, now_ms: int) -> Reading:
    """Let the nodes' functions read a recording.

    Args:
        spark: any session; nothing is streamed.
        recorded: what another version wrote.
        now_ms: now, epoch milliseconds.
    """
    return reading_by_topic(spark, by_topic(recorded.records).items(), recorded.queries, now_ms)


def reading_by_topic(
    spark: SparkSession,
    topics: Iterable[tuple[str, Sequence[Recorded]]],
    queries: Mapping[str, Mapping[str, int]],
    now_ms: int,
) -> Reading:
    """The same of topics that are read one after the other, so that the memory holds one of them."""
    refused: dict[str, int] = {}
    records: dict[str, int] = {}
    for topic, found in topics:
        if found:
            records[topic], refused[topic] = len(found), _refused(spark, topic, found, now_ms)
    return Reading(
        refused={topic: count for topic, count in refused.items() if count},
        records=records,
        checkpoints=list(itertools.islice(_strange_positions(queries), _MOST_SENTENCES)),
    )


def _refused(spark: SparkSession, topic: str, found: Sequence[Recorded], now_ms: int) -> int:
    if topic == Topic.CONFIG:
        return _refused_documents(found, now_ms)
    return _REFUSED_BY[READERS[topic]](spark, found) if topic in READERS else 0


def _strange_positions(queries: Mapping[str, Mapping[str, int]]) -> Iterator[str]:
    """Positions that no query of this version goes on from: what it reads would be lost or sent again."""
    for query, offsets in queries.items():
        if query not in INPUTS:
            yield f"it has no query {query}, of which the side has a checkpoint"
            continue
        topics = {name.rpartition("/")[0] for name in offsets}
        for topic in sorted(topics - set(INPUTS[query])):
            yield f"its query {query} does not read {topic}, of which the checkpoint has a position"


def _rows(spark: SparkSession, found: Sequence[Recorded]) -> DataFrame:
    rows = [(each.key, each.value, each.topic, each.partition, each.offset, each.headers) for each in found]
    return spark.createDataFrame(rows, _ROW).coalesce(1)


def _in_quarantine(written: DataFrame) -> int:
    return written.where(written["topic"] == Topic.QUARANTINE.value).count()


def _refused_by_ingest(spark: SparkSession, found: Sequence[Recorded]) -> int:
    return _in_quarantine(events(_rows(spark, found)))


def _refused_by_route(spark: SparkSession, found: Sequence[Recorded]) -> int:
    return _in_quarantine(outbound(_rows(spark, found), spark.createDataFrame([], SOURCE_ROW)))


def _refused_by_transmit(spark: SparkSession, found: Sequence[Recorded]) -> int:
    batches = flatten(_rows(spark, found)).toArrow().to_batches()
    return sum(isinstance(each, Poison) for batch in batches for each in parsed(batch))


def _refused_documents(found: Sequence[Recorded], now_ms: int) -> int:
    """Documents that cannot be decoded, and pipes that route would leave out."""
    entries: dict[bytes, Entry] = {}
    refused = 0
    newest = {each.key: each.value for each in found}
    for key, value in newest.items():
        if key in (None, COMPLETE_KEY) or value is None:
            continue
        try:
            entries[key] = decode_entry(value)
        except msgspec.MsgspecError:
            refused += 1
    bad: list[Pipe] = []
    for _ in valid_pipes(Catalogue(entries).pipes.values(), now_ms, lambda pipe, _: bad.append(pipe)):
        pass
    return refused + len(bad)


_REFUSED_BY: Final[Mapping[str, Callable[[SparkSession, Sequence[Recorded]], int]]] = {
    "ingest": _refused_by_ingest,
    "route": _refused_by_route,
    **dict.fromkeys(("transmit", "transmit_slow", "retry"), _refused_by_transmit),
}
"""How many records cannot be used, by the group that reads the topic; transmit reads what retry passes on."""
