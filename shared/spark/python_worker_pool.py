"""Gives a Spark node its own pool of Python workers, and keeps them alive while they are idle."""

import threading
import time
from collections.abc import Callable, Iterable, Iterator
from typing import Any, Final

import pyarrow as pa
from pyspark.sql import DataFrame, SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger
from shared.spark.worker_daemon import PRELOAD

_log = get_logger(__name__)

KEEP_SECONDS: Final = 30
"""Spark ends the workers of a pool that was idle for a minute (PythonWorkerFactory). The next event would
then wait for a process to start and read its tables: seconds instead of milliseconds."""

_LOOK_SECONDS: Final = 20
"""So often at most a query's workers are idle without being used: a look after a batch and one more, or one
after KEEP_SECONDS of a standby, are less than that minute."""


def own_workers(spark: SparkSession, node: str, *modules: str) -> None:
    """Let Python functions created from here on use a pool of worker processes named after a node.

    The pool's processes are forked from one that has imported `modules`.

    Spark uses a pool's workers in turn. If nodes shared a driver's pool, each of its processes would in time
    hold every node's tables and connections, and read their topics.
    """
    spark.sparkContext.environment["HIFI_NODE"] = node
    spark.sparkContext.environment[PRELOAD] = " ".join(modules)


def sign_of_life(spark: SparkSession) -> DataFrame:
    """A frame that uses a worker of the current pool each time it is computed."""
    return spark.range(0, 1, numPartitions=1).mapInArrow(_nothing, "id long")


class Batches:
    """A query's batches, as they use its workers."""

    def __init__(self, query: StreamingQuery) -> None:
        self._query = query
        self._seen: int | None = None

    def pause(self) -> bool:
        """Whether none is running, and none has ended since the last call.

        Spark would start one more worker for a job beside a batch, and then use both in turn: each with its
        own tables and connections.
        """
        newest = _newest_with_rows(self._query.lastProgress)
        ended = newest is not None and newest != self._seen
        self._seen = newest
        return not ended and not self._query.status["isDataAvailable"]


def _newest_with_rows(progress: Any) -> int | None:
    """The last batch's number; None if the query has found nothing to read since, which Spark reports too."""
    return int(progress["batchId"]) if progress is not None and progress["numInputRows"] else None


def keep_workers(query: StreamingQuery, sign: DataFrame) -> None:
    """Compute `sign` on a thread whenever the query's batches pause, until it ends."""
    batches = Batches(query)
    _repeat(
        query.name,
        lambda: batches.pause() and sign.collect(),
        lambda: _active(query),
        every=_LOOK_SECONDS,
        after=_LOOK_SECONDS,  # the first batch starts a worker as well
    )


def keep_in_use(node: str, use: Callable[[], object], needed: Callable[[], bool]) -> None:
    """Use a node's workers every KEEP_SECONDS on a thread, as long as they are needed."""
    _repeat(node, use, needed, every=KEEP_SECONDS)


def _repeat(
    node: str, use: Callable[[], object], needed: Callable[[], bool], *, every: float, after: float = 0.0
) -> None:
    """Call `use` on a thread as long as it is `needed`, first `after` seconds; `every` is in seconds, too."""

    def keep() -> None:
        time.sleep(after)
        while needed():
            try:
                use()
            except Exception:  # the next one may succeed; without it events are only delayed
                _log.warning(
                    "Python workers not kept alive: the job failed; retrying",
                    extra={"query": node},
                    exc_info=True,
                )
            time.sleep(every)

    threading.Thread(target=keep, name=f"keep-{node}", daemon=True).start()


def _active(query: StreamingQuery) -> bool:
    try:
        return query.isActive
    except Exception:  # the session has ended
        return False


def _nothing(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    yield from batches
