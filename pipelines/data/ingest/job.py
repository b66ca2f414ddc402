"""Wiring of ingest: `collected` to `events` and `quarantine`, in real-time mode."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pipelines.data.ingest.transforms import events
from shared.contracts.topology import INPUTS
from shared.runtime.settings import SparkSettings
from shared.spark.prepared_query import PreparedQuery
from shared.spark.session import read_topics, realtime_writer
from shared.spark.starting_offsets import EARLIEST, replay_left, starting_offsets

NODE = "ingest"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query."""
    starting = starting_offsets(spark, settings, NODE, *INPUTS[NODE])
    return _writer(spark, settings, starting).start()


def prepare(spark: SparkSession, settings: SparkSettings) -> PreparedQuery:
    """The query, not started."""
    return PreparedQuery(start=_writer(spark, settings, EARLIEST).start)


def _writer(spark: SparkSession, settings: SparkSettings, starting: str) -> DataStreamWriter:
    collected = read_topics(spark, settings, *INPUTS[NODE], starting=starting)
    marked = events(collected, replay_left(spark, settings, NODE))
    return realtime_writer(marked, settings, NODE, settings.ingest_batch)
