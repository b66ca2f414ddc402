"""A Spark application: one session, the queries of one or several nodes, until a signal or a query's end."""

import os
import threading
from collections.abc import Callable, Sequence
from pathlib import Path
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.kafka.shadow_group import ShadowGroup, progress_offsets
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.settings import SparkSettings
from shared.runtime.shutdown import stop_event
from shared.runtime.spark import spark_session

_log = get_logger(__name__)
_WATCH_SECONDS: Final = 0.5
_SHOW_SECONDS: Final = 5.0

Build = Callable[[SparkSession, SparkSettings], StreamingQuery]


def run_application(name: str, settings: SparkSettings, builds: Sequence[Build]) -> int:
    """Run queries, tell Kafka how far they are, say when they are ready.

    Args:
        name: of the application, in logs.
        settings: of the process.
        builds: what starts each query, in the order of starting; the last started stops first.

    Returns:
        The exit status: 0 after a stop signal, 1 when a query ended by itself.
    """
    configure_logging(name)
    stopping = stop_event()
    _forget(settings.ready_file)
    spark = spark_session(settings, name)
    queries = [build(spark, settings) for build in builds]
    shower = threading.Thread(target=_show, args=(queries, stopping, settings.bootstrap), daemon=True)
    shower.start()
    try:
        return _watch(queries, stopping, settings.ready_file)
    finally:
        _forget(settings.ready_file)
        for query in reversed(queries):
            query.stop()
        spark.stop()


def _watch(queries: Sequence[StreamingQuery], stopping: threading.Event, ready_file: Path | None) -> int:
    """Say ready once every query is past its initialisation; return when asked to stop or when one died."""
    ready = False
    while not stopping.wait(_WATCH_SECONDS):
        ended = [query for query in queries if not query.isActive]
        for query in ended:
            _log.error("query ended", extra={"query": query.name, "error": str(query.exception())})
        if ended:
            return 1
        if not ready and all(_processing(query) for query in queries):
            ready = True
            _log.info("ready")
            if ready_file is not None:
                ready_file.write_text(str(os.getpid()))
    return 0


def _show(queries: Sequence[StreamingQuery], stopping: threading.Event, bootstrap: str) -> None:
    """Tell Kafka how far each query is, for `hifi doctor`, lag tools and KEDA, until stopping."""
    groups = [(query, ShadowGroup(bootstrap, query.name)) for query in queries]
    while not stopping.wait(_SHOW_SECONDS):
        for query, group in groups:
            group.show(progress_offsets(query.lastProgress))


def _processing(query: StreamingQuery) -> bool:
    return not str(query.status["message"]).startswith("Initializing")


def _forget(ready_file: Path | None) -> None:
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)
