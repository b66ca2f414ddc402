"""Queries that no event waits for: they start when those that events wait for are past the worst."""

from collections.abc import Callable, Sequence
from math import inf
from typing import Final

from confluent_kafka import KafkaException
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger

_log = get_logger(__name__)

CALM_SECONDS: Final = 20.0
"""So long after the others they start: on two cores they would delay those."""

Start = Callable[[SparkSession], StreamingQuery]


class LaterQueries:
    """Starts each of them once."""

    def __init__(self, starts: Sequence[Start], monotonic: Callable[[], float]) -> None:
        """Start queries in this order; `monotonic` returns seconds."""
        self._starts, self._monotonic = list(starts), monotonic
        self._due_at = inf

    def wait(self, seconds: float) -> None:
        """The others have started: these are due after so many seconds."""
        self._due_at = self._monotonic() + seconds

    def start(self, spark: SparkSession) -> Sequence[StreamingQuery]:
        """Start what is due; to be called again and again.

        Where the brokers do not answer, it is tried again after CALM_SECONDS: the queries that events wait
        for must not end for these.
        """
        started: list[StreamingQuery] = []
        while self._starts and self._monotonic() >= self._due_at:
            try:
                started.append(self._starts[0](spark))
            except KafkaException:
                _log.warning("a query that no event waits for cannot start yet", exc_info=True)
                self.wait(CALM_SECONDS)
            else:
                del self._starts[0]
        return started
