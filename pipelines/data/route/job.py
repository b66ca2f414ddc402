"""Wiring of route: `events` to `outbound`, `unmatched`, `quarantine`, in real-time mode, with live pipes."""

from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pipelines.data.route.pipe_datasource import PipesDataSource
from pipelines.data.route.transforms import outbound
from shared.contracts.topology import INPUTS
from shared.runtime.settings import SparkSettings
from shared.spark.prepared_query import PreparedQuery
from shared.spark.python_worker_pool import own_workers
from shared.spark.session import read_topics, realtime_writer
from shared.spark.starting_offsets import EARLIEST, starting_offsets

NODE = "route"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query."""
    starting = starting_offsets(spark, settings, NODE, *INPUTS[NODE])
    return _writer(spark, settings, starting, pipes(spark, settings, speaks=not settings.rehearsal)).start()


def prepare(spark: SparkSession, settings: SparkSettings) -> PreparedQuery:
    """The query, not started, and the workers that read its pipes, one more than a batch needs.

    Until it is started it does not speak for the query at work: the batch of that one may have older pipes.
    """
    silent = pipes(spark, settings, speaks=False)
    return PreparedQuery(
        start=_writer(spark, settings, EARLIEST, pipes(spark, settings, speaks=True)).start,
        use_workers=silent.union(silent).write.format("noop").mode("overwrite").save,
    )


def _writer(
    spark: SparkSession, settings: SparkSettings, starting: str, table: DataFrame
) -> DataStreamWriter:
    events = read_topics(spark, settings, *INPUTS[NODE], starting=starting)
    return realtime_writer(outbound(events, table), settings, NODE, settings.route_batch)


def pipes(spark: SparkSession, settings: SparkSettings, *, speaks: bool) -> DataFrame:
    """The table of pipes, read again at each batch; it `speaks` if that says what the query at work uses."""
    own_workers(spark, NODE, PipesDataSource.__module__)
    spark.dataSource.register(PipesDataSource)
    return (
        spark.read.format(PipesDataSource.name())
        .option("bootstrap", settings.bootstrap)
        .option("client_id", f"{settings.side}-{NODE}")
        .option("beats", speaks)
        .load()
    )
