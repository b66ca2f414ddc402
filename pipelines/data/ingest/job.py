"""Wiring of ingest: `collected` to `events` and `quarantine`, in real-time mode."""

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.ingest.transforms import events
from shared.contracts.topology import INPUTS
from shared.runtime.settings import SparkSettings
from shared.spark.session import read_topics, realtime_writer
from shared.spark.starting_offsets import starting_offsets

NODE = "ingest"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query."""
    starting = starting_offsets(spark, settings, NODE, *INPUTS[NODE])
    collected = read_topics(spark, settings, *INPUTS[NODE], starting=starting)
    return realtime_writer(events(collected), settings, NODE, settings.ingest_batch).start()
