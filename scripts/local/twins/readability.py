"""Whether this code reads what another version wrote. The deployer runs it with the code of a version that is
to be released, before any traffic: `python -m scripts.local.twins.readability FILE`.

The records go through the functions of the nodes, as they do when it runs. FILE is a recording; the answer,
on standard output, is a `Reading` in JSON.
"""

import sys
from collections.abc import Callable, Iterator, Mapping, Sequence
from pathlib import Path
from typing import Final

import msgspec
from msgspec import Struct
from pyspark.sql import DataFrame, SparkSession

from pipelines.data.ingest.transforms import events
from pipelines.data.route.config_rows import valid_pipes
from pipelines.data.route.schema import SOURCE_ROW
from pipelines.data.route.transforms import outbound
from pipelines.data.transmit.delivery.record_parser import read as parsed
from pipelines.data.transmit.events import Poison
from pipelines.data.transmit.transforms import flatten
from scripts.local.twins.recording import Recorded, Recording, read
from shared.contracts.completeness import COMPLETE_KEY
from shared.contracts.documents import Catalogue, Entry, Pipe, decode_entry
from shared.contracts.topics import RETRY_DELAYS, Topic
from shared.contracts.topology import INPUTS
from shared.runtime.clock import wall_clock

_ROW: Final = (
    "key binary, value binary, topic string, partition int, offset bigint, "
    "headers array<struct<key:string,value:binary>>"
)
"""Records as Spark's Kafka source gives them."""


class Reading(Struct, frozen=True, kw_only=True):
    """What became of a recording."""

    refused: dict[str, int] = {}
    """By topic, how many of its records the node that reads it cannot use."""

    records: dict[str, int] = {}
    """By topic, how many there were."""

    checkpoints: list[str] = []
    """What of the checkpoints this version cannot go on from, a sentence each."""


def reading(spark: SparkSession, recorded: Recording, now_ms: int) -> Reading:
    """Let the nodes' functions read a recording.

    Args:
        spark: any session; nothing is streamed.
        recorded: what another version wrote.
        now_ms: now, epoch milliseconds.
    """
    by_topic: dict[str, list[Recorded]] = {}
    for each in recorded.records:
        by_topic.setdefault(each.topic, []).append(each)
    refused = {topic: _REFUSED[topic](spark, found) for topic, found in by_topic.items() if topic in _REFUSED}
    if found := by_topic.get(Topic.CONFIG):
        refused[Topic.CONFIG] = _refused_documents(found, now_ms)
    return Reading(
        refused={topic: count for topic, count in refused.items() if count},
        records={topic: len(found) for topic, found in by_topic.items()},
        checkpoints=list(_strange_positions(recorded.queries)),
    )


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


_REFUSED: Final[Mapping[str, Callable[[SparkSession, Sequence[Recorded]], int]]] = {
    Topic.COLLECTED: _refused_by_ingest,
    Topic.EVENTS: _refused_by_route,
    **dict.fromkeys((Topic.OUTBOUND, Topic.RETRY_OUT, *RETRY_DELAYS), _refused_by_transmit),
}


def _session() -> SparkSession:
    quiet = {"spark.ui.enabled": "false", "spark.sql.shuffle.partitions": "1"}
    builder = SparkSession.builder.master("local[1]").appName("readability")
    for name, value in quiet.items():
        builder = builder.config(name, value)
    return builder.getOrCreate()


def main(file: Path) -> int:
    """Exit status of the process."""
    spark = _session()
    try:
        found = reading(spark, read(file), wall_clock())
    finally:
        spark.stop()
    sys.stdout.write(msgspec.json.encode(found).decode() + "\n")
    return 0


if __name__ == "__main__":
    sys.exit(main(Path(sys.argv[1])))
