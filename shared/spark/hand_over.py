"""How a driver at its end gives its queries to one that is warm."""

import time
from collections.abc import Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from typing import Any, Final

from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger
from shared.spark.checkpoint_locks import CheckpointLocks

_log = get_logger(__name__)
_SOON_SECONDS: Final = 0.02
_BOUNDARY_SECONDS: Final = 0.5
"""How much longer than the last batch the running one may take."""

_AT_WORK_SECONDS: Final = 8.0


def hand_over(queries: Sequence[StreamingQuery], locks: CheckpointLocks) -> None:
    """Give all queries to a driver that is warm; without one, stop them: a side that stops ends both drivers.

    All at once, so that an event meets one pause, not one at each query. It comes between two batches of the
    query with the longest ones: what is stopped within a batch is processed again.
    """
    if not queries or not locks.is_awaited():
        for query in reversed(queries):
            query.stop()
        return
    _wait_for_boundary(max(queries, key=_batch_ms), locks)
    begun = time.monotonic()
    with ThreadPoolExecutor(len(queries)) as threads:
        list(threads.map(partial(_give, locks=locks), queries))
    stopped = time.monotonic()
    left = {query.name for query in queries}
    while left and locks.is_awaited() and time.monotonic() < stopped + _AT_WORK_SECONDS:
        left = {node for node in left if not locks.is_at_work(node)}
        time.sleep(_SOON_SECONDS)
    took = {"stop_ms": _ms(stopped - begun), "start_ms": _ms(time.monotonic() - stopped)}
    _log.info("queries handed over", extra=took)


def _give(query: StreamingQuery, *, locks: CheckpointLocks) -> None:
    node = query.name
    query.stop()
    locks.release(node)


def _batch_ms(query: StreamingQuery) -> float:
    progress: Mapping[str, Any] = query.lastProgress or {}
    return float(progress.get("batchDuration", 0))


def _ms(seconds: float) -> int:
    return round(1_000 * seconds)


def _wait_for_boundary(query: StreamingQuery, locks: CheckpointLocks) -> None:
    """Wait for the end of a batch: what is stopped within one is processed again."""
    last: Mapping[str, Any] | None = query.lastProgress
    if last is None:
        return
    deadline = time.monotonic() + last["batchDuration"] / 1000 + _BOUNDARY_SECONDS
    while query.isActive and _batch(query) == last["batchId"] and time.monotonic() < deadline:
        if not locks.is_awaited():
            return
        time.sleep(_SOON_SECONDS)


def _batch(query: StreamingQuery) -> object:
    progress: Mapping[str, Any] = query.lastProgress or {}
    return progress.get("batchId")
