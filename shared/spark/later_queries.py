"""Starts the queries that no event waits for, once the others have got through their start.

The others are unaffected if one of these ends or does not start; it is tried again and again.
"""

from collections.abc import Callable, Sequence
from dataclasses import dataclass
from math import inf
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger

_log = get_logger(__name__)

CALM_SECONDS: Final = 20.0
"""How long after the others they start, which they would delay on two cores; and how long after a failure."""

Start = Callable[[SparkSession], StreamingQuery]


@dataclass
class _Later:
    start: Start
    due_at: float = inf
    query: StreamingQuery | None = None


class LaterQueries:
    """Keeps each of them at work, once they are due."""

    def __init__(self, starts: Sequence[Start], monotonic: Callable[[], float]) -> None:
        """Start queries in this order; `monotonic` returns seconds."""
        self._all, self._monotonic = [_Later(start) for start in starts], monotonic

    def wait(self, seconds: float) -> None:
        """The others have started: these are due after so many seconds."""
        for each in self._all:
            each.due_at = self._monotonic() + seconds

    def start(self, spark: SparkSession) -> Sequence[StreamingQuery]:
        """Start what is due, and return it; to be called again and again.

        One that has ended by itself, or whose start fails, is due again after CALM_SECONDS.
        """
        for each in self._all:
            self._notice_end(each)
        found = [self._started(each, spark) for each in self._all]
        return [query for query in found if query is not None]

    def _notice_end(self, later: _Later) -> None:
        if later.query is not None and not later.query.isActive:
            log_end(later.query)
            later.query, later.due_at = None, self._monotonic() + CALM_SECONDS

    def _started(self, later: _Later, spark: SparkSession) -> StreamingQuery | None:
        """The query, if it was due and starts."""
        if later.query is not None or self._monotonic() < later.due_at:
            return None
        try:
            later.query = later.start(spark)
        except Exception:  # whatever it is, the queries that events wait for must not end for it
            seconds = {"again_in_seconds": CALM_SECONDS}
            _log.warning("a query that no event waits for cannot start yet", exc_info=True, extra=seconds)
            later.due_at = self._monotonic() + CALM_SECONDS
        return later.query


def log_end(query: StreamingQuery) -> None:
    """Log that a query has ended by itself, and why."""
    _log.error("query ended", extra={"query": query.name, "error": str(query.exception())})
