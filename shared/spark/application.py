"""A Spark application: one session, the queries of one or several nodes, until a signal or a query's end.

Meanwhile it answers `/healthz`, `/readyz` and `/metrics`.
"""

import os
import threading
import time
from collections.abc import Callable, Mapping, Sequence
from concurrent.futures import ThreadPoolExecutor
from functools import partial
from pathlib import Path
from typing import Final, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.contracts.topology import INPUTS
from shared.kafka.progress_group import ProgressGroup, progress_offsets
from shared.runtime.health import health_served
from shared.runtime.logging import configure_logging, get_logger
from shared.runtime.settings import SparkSettings
from shared.runtime.shutdown import stop_event
from shared.spark.jvm_output import json_output
from shared.spark.later_queries import CALM_SECONDS, LaterQueries, log_end
from shared.spark.missing_executors import MISSING_LOOKS, MissingExecutors
from shared.spark.planned_stop import stop_with_progress
from shared.spark.query_metrics import QueryMetrics, takes_tasks
from shared.spark.session import spark_session

_log = get_logger(__name__)
_START_SECONDS: Final = 0.5
_WATCH_SECONDS: Final = 1.0
"""Between two looks, each a call to the JVM for every query; the former until all queries are at work."""

_LOOK_SECONDS: Final = 5.0

Build = Callable[[SparkSession, SparkSettings], StreamingQuery]


class Operation(Protocol):
    """How an application starts its queries, and how it ends them."""

    def start(self, spark: SparkSession, stopping: threading.Event) -> Sequence[StreamingQuery]:
        """Start the queries that an event waits for, in their order; may wait, and then returns early when
        stopping."""
        ...

    def start_more(self, spark: SparkSession) -> Sequence[StreamingQuery]:
        """Start the queries that no event waits for, once they are due, and again where one has failed.

        Called again and again; returns those that it has started now.
        """
        ...

    def stop(self, queries: Sequence[StreamingQuery]) -> None:
        """End what `start` and `start_more` returned."""
        ...


class Alone:
    """The queries of the only driver: started in the order of `builds`, stopped in reverse order."""

    def __init__(
        self,
        builds: Sequence[Build],
        settings: SparkSettings,
        *,
        wait: Callable[[threading.Event], None] = lambda _: None,
        later: Sequence[Build] = (),
        monotonic: Callable[[], float] = time.monotonic,
    ) -> None:
        """Start these queries.

        Args:
            builds: of queries that events wait for.
            settings: of the process.
            wait: called between the start of Spark and the first query, with the event that a signal sets.
            later: of queries that no event waits for.
            monotonic: returns seconds.
        """
        self._builds, self._settings, self._wait = builds, settings, wait
        self._later = LaterQueries([partial(_built, build, settings) for build in later], monotonic)

    def start(self, spark: SparkSession, stopping: threading.Event) -> Sequence[StreamingQuery]:
        """Start all of them, or none if it is to stop meanwhile."""
        self._wait(stopping)
        if stopping.is_set():
            return []
        queries = [build(spark, self._settings) for build in self._builds]
        self._later.wait(CALM_SECONDS)
        return queries

    def start_more(self, spark: SparkSession) -> Sequence[StreamingQuery]:
        """Start those of `later` that are due."""
        return self._later.start(spark)

    def stop(self, queries: Sequence[StreamingQuery]) -> None:
        """Stop all of them."""
        for query in reversed(queries):
            stop_with_progress(query)


def _built(build: Build, settings: SparkSettings, spark: SparkSession) -> StreamingQuery:
    return build(spark, settings)


def run_application(name: str, settings: SparkSettings, builds: Sequence[Build]) -> int:
    """`run_operation` of these queries alone, for which events wait."""
    return run_operation(name, settings, lambda: Alone(builds, settings))


def run_operation(name: str, settings: SparkSettings, make: Callable[[], Operation]) -> int:
    """Run queries, publish their progress to Kafka, and serve health and metrics.

    Args:
        name: name of the application in logs.
        settings: settings of the process.
        make: makes what starts and stops the queries, on another thread while Spark starts: it may import
            them.

    Returns:
        The exit status: 0 after a stop signal, 1 when a query that events wait for ended by itself, or when
        no executor has taken tasks for too long.

    Raises:
        OSError: if the port of health and metrics is taken.
    """
    configure_logging(name)
    stopping, ready = stop_event(), threading.Event()
    metrics = QueryMetrics(name)

    def report() -> Mapping[str, bool]:
        return {"queries": ready.is_set() and not stopping.is_set()}

    metrics.ready.set_function(lambda: all(report().values()))
    _forget(settings.ready_file)
    with health_served(settings.metrics_host, settings.metrics_port, report, metrics.registry) as port:
        _log.info("health and metrics", extra={"host": settings.metrics_host, "port": port})
        with json_output(), ThreadPoolExecutor(1) as beside:
            made = beside.submit(make)
            spark = spark_session(settings, name)
        operation = made.result()
        _log.info("session started")
        metrics.count_executors(spark, stopping)
        queries = list(operation.start(spark, stopping))
        looker = threading.Thread(
            target=_look, args=(spark, queries, stopping, settings.bootstrap, metrics), daemon=True
        )
        looker.start()
        try:
            start_more = partial(operation.start_more, spark)
            able = partial(takes_tasks, spark)
            return watch(queries, start_more, stopping, ready, settings.ready_file, able=able)
        finally:
            _forget(settings.ready_file)
            operation.stop(queries)
            spark.stop()


def watch(  # noqa: PLR0913  # the queries, and what shows that they are ready
    queries: list[StreamingQuery],
    start_more: Callable[[], Sequence[StreamingQuery]],
    stopping: threading.Event,
    ready: threading.Event,
    ready_file: Path | None,
    *,
    able: Callable[[], bool],
    monotonic: Callable[[], float] = time.monotonic,
) -> int:
    """Report ready once the first queries have initialised and can work, and add later ones to `queries`.

    A worker that is lost afterwards changes nothing of that: another one takes its place. If none does, the
    driver ends.

    Args:
        queries: those that events wait for. A later one that has ended stays in it until another one of its
            name takes its place, so that its age and lag go on rising where they are looked at.
        start_more: starts later ones, and returns what it has started.
        stopping: set when the process is to stop.
        ready: set here.
        ready_file: written when ready.
        able: whether anything takes the queries' tasks.
        monotonic: returns seconds.

    Returns:
        The exit status: 0 when asked to stop, 1 when one of the first queries ended, or when nothing has
        taken tasks for too long.
    """
    prompt, missing = tuple(queries), MissingExecutors(monotonic)
    while not stopping.wait(_WATCH_SECONDS if ready.is_set() else _START_SECONDS):
        ended = [query for query in prompt if not query.isActive]
        for query in ended:
            log_end(query)
        if ended:
            ready.clear()
            return 1
        is_able = able()
        if missing.too_long(is_able):
            ready.clear()
            _log.error(
                "no executor has taken tasks for a quarter of an hour: ending, so that the next driver "
                "registers anew; if it gets none either, no worker has room for one",
                extra={"looks": MISSING_LOOKS},
            )
            return 1
        if not ready.is_set() and is_able and all(is_processing(query) for query in prompt):
            ready.set()
            _log.info("ready")
            if ready_file is not None:
                ready_file.write_text(str(os.getpid()))
        if ready.is_set():
            _add(queries, start_more())
    return 0


def _add(queries: list[StreamingQuery], more: Sequence[StreamingQuery]) -> None:
    names = {query.name for query in more}
    if names:
        queries[:] = [*(query for query in queries if query.name not in names), *more]


def _look(
    spark: SparkSession,
    queries: Sequence[StreamingQuery],
    stopping: threading.Event,
    bootstrap: str,
    metrics: QueryMetrics,
) -> None:
    """Publish each query's progress until stopping: to Kafka (for `hifi doctor` and KEDA) and Prometheus."""
    groups: dict[str, ProgressGroup] = {}
    while not stopping.wait(_LOOK_SECONDS):
        try:
            for query in tuple(queries):
                if query.name not in groups:
                    groups[query.name] = ProgressGroup(bootstrap, query.name)
                _look_at(query, groups[query.name], metrics)
            metrics.look_at_jvm(spark)
        except Exception:  # the next pass may succeed; a query that ended is noticed elsewhere
            if not stopping.is_set():
                _log.warning("progress of the queries not published", exc_info=True)


def _look_at(query: StreamingQuery, group: ProgressGroup, metrics: QueryMetrics) -> None:
    progress = query.lastProgress
    if progress is None:
        committed = group.committed(INPUTS[query.name])
        metrics.await_first(query.name, committed, group.ends(committed))
        return
    offsets = progress_offsets(progress)
    group.show(offsets)
    metrics.take(query.name, progress, group.ends(offsets))


def is_processing(query: StreamingQuery) -> bool:
    """Whether a query has begun with its first batch."""
    return not str(query.status["message"]).startswith("Initializing")


def _forget(ready_file: Path | None) -> None:
    if ready_file is not None:
        ready_file.unlink(missing_ok=True)
