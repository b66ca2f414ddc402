"""transmit's Spark queries: outbound and retry_out to receipts, retries and dead letters, in micro-batches.

The fast lane's query does not wait long for any destination; it passes slow ones to the slow lane's query.
"""

import functools
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery
from pyspark.sql.streaming.readwriter import DataStreamWriter

from pipelines.data.transmit.schema import OUTPUT
from pipelines.data.transmit.settings import TransmitSettings
from pipelines.data.transmit.transforms import flatten
from pipelines.data.transmit.worker import transmit
from shared.contracts.topology import INPUTS
from shared.runtime.settings import SparkSettings
from shared.spark.prepared_query import PreparedQuery
from shared.spark.python_worker_pool import keep_workers, own_workers, sign_of_life
from shared.spark.session import MICROBATCH_FETCH_WAIT_MS, microbatch_writer, read_topics
from shared.spark.starting_offsets import EARLIEST, starting_offsets

NODE: Final = "transmit"
SLOW_NODE: Final = "transmit_slow"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the fast lane's query."""
    own = _own(settings)
    return _fast(spark, own, starting_offsets(spark, own, NODE, *INPUTS[NODE])).start()


def prepare(spark: SparkSession, settings: SparkSettings) -> PreparedQuery:
    """The fast lane's query, not started."""
    return _fast(spark, _own(settings), EARLIEST)


def build_slow(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the slow lane's query, for destinations that the fast lane does not wait for.

    Its Python process starts with the first event and ends a minute after the last: most sides need none.
    """
    own = _own(settings)
    return _slow(spark, own, starting_offsets(spark, own, SLOW_NODE, *INPUTS[SLOW_NODE])).start()


def prepare_slow(spark: SparkSession, settings: SparkSettings) -> PreparedQuery:
    """The slow lane's query, not started."""
    return PreparedQuery(start=_slow(spark, _own(settings), EARLIEST).start)


def _fast(spark: SparkSession, own: TransmitSettings, starting: str) -> PreparedQuery:
    records = read_topics(
        spark,
        own,
        *INPUTS[NODE],
        starting=starting,
        fetch_wait_ms=MICROBATCH_FETCH_WAIT_MS,
        most_records=own.transmit_batch_events,
    )
    # Few tasks: each costs a fixed time, a Python process and a reader of the receipts.
    rows = flatten(records).coalesce(own.transmit_tasks)
    own_workers(spark, NODE, transmit.__module__)
    written = rows.mapInArrow(functools.partial(transmit, _of_workers(own), "fast"), OUTPUT)
    writer = microbatch_writer(written, own, NODE).trigger(processingTime=own.fast_trigger)
    sign = sign_of_life(spark)

    def start() -> StreamingQuery:
        query = writer.start()
        keep_workers(query, sign)
        return query

    return PreparedQuery(start=start, use_workers=sign.collect)


def _slow(spark: SparkSession, own: TransmitSettings, starting: str) -> DataStreamWriter:
    records = read_topics(
        spark,
        own,
        *INPUTS[SLOW_NODE],
        starting=starting,
        fetch_wait_ms=MICROBATCH_FETCH_WAIT_MS,
        most_records=own.slow_batch_events,
    )
    rows = flatten(records).coalesce(1)
    own_workers(spark, SLOW_NODE, transmit.__module__)
    written = rows.mapInArrow(functools.partial(transmit, _of_workers(own), "slow"), OUTPUT)
    # Of a lane that is idle for days no batch may be left that would be sent again after them.
    writer = microbatch_writer(written, own, SLOW_NODE, progress_ms=0)
    return writer.trigger(processingTime=own.slow_trigger)


def _own(settings: SparkSettings) -> TransmitSettings:
    """Settings of transmit's own come from the environment where `settings` has none."""
    return settings if isinstance(settings, TransmitSettings) else TransmitSettings(**settings.model_dump())


def _of_workers(own: TransmitSettings) -> TransmitSettings:
    """The same for a rehearsal as for the queries after it, so that its workers go on serving these."""
    return own.model_copy(update={"checkpoints": "", "rehearsal": ""})
