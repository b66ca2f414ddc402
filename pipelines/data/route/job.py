"""Wiring of route: `events` to `outbound` and `quarantine`, in real-time mode, with live pipes."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.route.source import PipesSource
from pipelines.data.route.transforms import outbound
from shared.contracts.topics import Topic
from shared.kafka.resume import starting_offsets
from shared.runtime.settings import SparkSettings
from shared.runtime.spark import read_topics, realtime_writer
from shared.runtime.workers import own_workers

NODE = "route"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query."""
    starting = starting_offsets(spark, settings, NODE, Topic.EVENTS)
    events = read_topics(spark, settings, Topic.EVENTS, starting=starting)
    routed = outbound(events, pipes(spark, settings))
    return realtime_writer(routed, settings, NODE, settings.route_batch).start()


def pipes(spark: SparkSession, settings: SparkSettings) -> DataFrame:
    """The table of pipes, read anew at each batch."""
    own_workers(spark, NODE)
    spark.dataSource.register(PipesSource)
    return (
        spark.read.format(PipesSource.name())
        .option("bootstrap", settings.bootstrap)
        .option("client_id", f"{settings.side}-{NODE}")
        .load()
    )
