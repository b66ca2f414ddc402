"""A Spark node as a process of its own: one session, one query, until a signal or the query's end."""

from collections.abc import Callable

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import configure_logging
from shared.runtime.settings import SparkSettings
from shared.runtime.shutdown import stop_event
from shared.runtime.spark import spark_session

_WATCH_SECONDS = 1
Build = Callable[[SparkSession, SparkSettings], StreamingQuery]


def run_node(name: str, settings: SparkSettings, build: Build) -> int:
    """Run a node's query. Returns the exit code: 0 after a stop signal.

    Raises:
        StreamingQueryException: if the query failed.
    """
    configure_logging(name)
    stopping = stop_event()
    spark = spark_session(settings, name)
    query = build(spark, settings)
    try:
        while not stopping.is_set():
            if query.awaitTermination(_WATCH_SECONDS):
                return 1
        return 0
    finally:
        query.stop()
        spark.stop()
