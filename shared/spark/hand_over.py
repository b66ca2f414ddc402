"""How a driver at its end gives its queries to one that is warm."""

import time
from collections.abc import Mapping, Sequence
from typing import Any, Final

from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger
from shared.spark.checkpoint_locks import CheckpointLocks
from shared.spark.planned_stop import stop_with_progress

_log = get_logger(__name__)
_SOON_SECONDS: Final = 0.02
_BOUNDARY_SECONDS: Final = 0.5
"""How much longer than the last batch the running one may take."""

_AT_WORK_SECONDS: Final = 8.0
_PAUSE_SECONDS: Final = 2.5

_MICRO_BATCH_SECONDS: Final = 1.0
_LONG_BATCH_SECONDS: Final = 5.0


def hand_over(queries: Sequence[StreamingQuery], locks: CheckpointLocks) -> None:
    """Give the queries to a driver that is warm, then stop the rest: a side that stops ends both drivers.

    One after the other, with a pause between them: each stands still for a second or so, and an event should
    meet that once.
    """
    left = list(queries)
    while left and locks.is_awaited():
        _hand_over_one(left.pop(0), locks)
        if left and locks.is_awaited():
            time.sleep(_PAUSE_SECONDS)
    for query in reversed(left):
        stop_with_progress(query)


def _hand_over_one(query: StreamingQuery, locks: CheckpointLocks) -> None:
    """Stop a query, and wait until the other driver's has begun."""
    node = query.name
    if not _is_repeated_at_once(query):
        _wait_for_boundary(query, locks)
    begun = time.monotonic()
    stop_with_progress(query)
    locks.release(node)
    stopped = time.monotonic()
    while not locks.is_at_work(node) and locks.is_awaited() and time.monotonic() < stopped + _AT_WORK_SECONDS:
        time.sleep(_SOON_SECONDS)
    took = {"stop_ms": _ms(stopped - begun), "start_ms": _ms(time.monotonic() - stopped)}
    _log.info("query handed over", extra={"node": node, **took})


def _is_repeated_at_once(query: StreamingQuery) -> bool:
    """Whether to stop within a batch: when the end of one is seen, the next has begun, and must be ended.

    A batch of some seconds is repeated in less time than that takes. A micro-batch is not stopped within, as
    its requests would be sent again, nor a long batch, which would take long to repeat.
    """
    seconds = float(_progress(query).get("batchDuration", 0)) / 1_000
    return _MICRO_BATCH_SECONDS < seconds < _LONG_BATCH_SECONDS


def _ms(seconds: float) -> int:
    return round(1_000 * seconds)


def _wait_for_boundary(query: StreamingQuery, locks: CheckpointLocks) -> None:
    """Wait for the end of a batch: what is stopped within one is processed again."""
    last = _progress(query)
    if not last:
        return
    deadline = time.monotonic() + last["batchDuration"] / 1000 + _BOUNDARY_SECONDS
    while (
        query.isActive and _progress(query).get("batchId") == last["batchId"] and time.monotonic() < deadline
    ):
        if not locks.is_awaited():
            return
        time.sleep(_SOON_SECONDS)


def _progress(query: StreamingQuery) -> Mapping[str, Any]:
    """Progress of the last batch; empty before the first one has ended."""
    return query.lastProgress or {}
