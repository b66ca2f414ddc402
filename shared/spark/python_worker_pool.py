"""A Spark node's own Python worker processes: a pool to itself, kept alive while there is nothing to do."""

import threading
import time
from collections.abc import Iterable, Iterator
from typing import Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger

_log = get_logger(__name__)

KEEP_SECONDS: Final = 30
"""Spark ends the workers of a pool that nobody used for a minute (PythonWorkerFactory). The next event would
wait for a process to start and to read its tables: seconds instead of milliseconds."""


def own_workers(spark: SparkSession, node: str) -> None:
    """Give the Python functions that are wrapped from here on a pool of worker processes named after a node.

    Spark hands out a pool's workers in turn. Where nodes share a driver and so a pool, each of its processes
    would in time hold every node's tables and connections, and follow their topics.
    """
    spark.sparkContext.environment["HIFI_NODE"] = node


def sign_of_life(spark: SparkSession) -> DataFrame:
    """A frame whose every run uses a worker of the pool that is the own one now."""
    return spark.range(0, 1, numPartitions=1).mapInArrow(_nothing, "id long")


def keep_workers(query: StreamingQuery, sign: DataFrame) -> None:
    """Run `sign` every KEEP_SECONDS, from a thread of its own, until the query ends."""

    def keep() -> None:
        while _active(query):
            try:
                sign.collect()
            except Exception:  # the next may do better; to go without costs time, not events
                _log.warning("no sign of life", extra={"query": query.name}, exc_info=True)
            time.sleep(KEEP_SECONDS)

    threading.Thread(target=keep, name=f"keep-{query.name}", daemon=True).start()


def _active(query: StreamingQuery) -> bool:
    try:
        return query.isActive
    except Exception:  # the session is gone, and the way to it
        return False


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
