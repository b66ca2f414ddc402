"""A query that is ready to start: what a standby has at hand when it takes over."""

from collections.abc import Callable
from dataclasses import dataclass

from pyspark.sql.streaming.query import StreamingQuery


@dataclass(frozen=True, kw_only=True)
class PreparedQuery:
    """It starts at its checkpoint, which another driver has written until then."""

    start: Callable[[], StreamingQuery]
    use_workers: Callable[[], object] | None = None
    """Uses the Python workers that an event would otherwise wait for, so that Spark does not end them."""
