"""All three Spark nodes in one process: what a laptop runs instead of three applications on a cluster."""

import os
import signal
import sys
import threading
from pathlib import Path

from pydantic import Field
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.data.ingest.job import build as build_ingest
from pipelines.data.route.job import build as build_route
from pipelines.data.transmit.job import build as build_transmit
from shared.kafka.shadow_group import ShadowGroup, progress_offsets
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.settings import SparkSettings
from shared.runtime.spark import spark_session

_log = get_logger(__name__)
_WATCH_SECONDS = 0.5
_SHOW_SECONDS = 5.0


class DriverSettings(SparkSettings):
    """The local driver's own."""

    ready_file: Path = Field(description="Written, with this process's id, once all queries process data.")


def main() -> int:
    """Run until a signal (0) or until a query ends by itself (1)."""
    configure_logging("spark")
    settings = DriverSettings()  # type: ignore[call-arg]  # from the environment
    settings.ready_file.unlink(missing_ok=True)
    stopping = threading.Event()
    for name in (signal.SIGTERM, signal.SIGINT):
        signal.signal(name, lambda *_: stopping.set())
    spark = spark_session(settings, "hifi")
    queries = [build(spark, settings) for build in (build_transmit, build_route, build_ingest)]
    shower = threading.Thread(target=show_progress, args=(queries, stopping, settings.bootstrap), daemon=True)
    shower.start()
    try:
        return watch(queries, stopping, settings.ready_file)
    finally:
        settings.ready_file.unlink(missing_ok=True)
        for query in reversed(queries):
            query.stop()
        spark.stop()


def watch(queries: list[StreamingQuery], stopping: threading.Event, ready_file: Path) -> int:
    """Say ready once every query is past its initialisation; return when asked to stop or when one died."""
    while not stopping.wait(_WATCH_SECONDS):
        ended = [query for query in queries if not query.isActive]
        for query in ended:
            _log.error("query ended", extra={"query": query.name, "error": str(query.exception())})
        if ended:
            return 1
        if not ready_file.exists() and all(_processing(query) for query in queries):
            ready_file.write_text(str(os.getpid()))
            _log.info("ready")
    return 0


def show_progress(queries: list[StreamingQuery], stopping: threading.Event, bootstrap: str) -> None:
    """Tell Kafka how far each query is, for `hifi doctor` and lag tools, until stopping."""
    groups = [(query, ShadowGroup(bootstrap, query.name)) for query in queries]
    while not stopping.wait(_SHOW_SECONDS):
        for query, group in groups:
            group.show(progress_offsets(query.lastProgress))


def _processing(query: StreamingQuery) -> bool:
    return not str(query.status["message"]).startswith("Initializing")


if __name__ == "__main__":
    sys.exit(main())
