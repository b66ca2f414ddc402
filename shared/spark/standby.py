"""Two drivers of a side, one at work and one warm, which takes over: never do both have the same query.

Both run this. The one that finds the checkpoints free starts the queries; the other rehearses them on topics
of its own, stops, and waits for the locks. It gets them when the first one is gone, all at once, or when it
hands them over at its end, one by one.
"""

import os
import threading
import time
from collections.abc import Callable, Collection, Iterable, Mapping, Sequence
from functools import partial
from pathlib import Path
from typing import Any, Final, Protocol

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.logging import get_logger
from shared.runtime.settings import SparkSettings
from shared.spark.application import Build, is_processing
from shared.spark.checkpoint_locks import CheckpointLocks
from shared.spark.checkpoint_owners import end_processes
from shared.spark.driver_beat import beat_until
from shared.spark.hand_over import hand_over
from shared.spark.later_queries import CALM_SECONDS, LaterQueries
from shared.spark.prepared_query import PreparedQuery
from shared.spark.python_worker_pool import keep_in_use
from shared.spark.takeover import Step, Takeover

_log = get_logger(__name__)
_POLL_SECONDS: Final = 0.2
_SOON_SECONDS: Final = 0.02


Prepare = Callable[[SparkSession, SparkSettings], PreparedQuery]


class Rehearsal(Protocol):
    """Runs queries on topics of its own until they are fast."""

    def run(self, spark: SparkSession, ended: Callable[[], bool]) -> None:
        """Rehearse; ends early when `ended` says so. All its queries have ended when it returns."""
        ...


class TwoDrivers:
    """How a driver starts and stops its queries beside another one; for `run_operation`."""

    def __init__(  # noqa: PLR0913  # what to run, and how it waits
        self,
        builds: Mapping[str, Build],
        settings: SparkSettings,
        rehearsal: Rehearsal,
        *,
        prepares: Mapping[str, Prepare],
        later: Collection[str],
        warm_file: Path,
        hurry: Callable[[], None],
    ) -> None:
        """Start these queries when no other driver has them.

        Args:
            builds: by node, the one to start first at the front.
            settings: of the process; the checkpoints are in a folder of this machine.
            rehearsal: of the same queries.
            prepares: of the same queries, for a driver that takes over.
            later: nodes that no event waits for.
            warm_file: exists while the driver is warm and waits.
            hurry: called when the driver begins to take over.
        """
        self._builds, self._settings, self._rehearsal = builds, settings, rehearsal
        self._prepares, self._prepared = prepares, dict[str, PreparedQuery]()
        self._warm_file, self._hurry = warm_file, hurry
        self._locks: CheckpointLocks | None = None
        self._prompt = [node for node in builds if node not in later]
        self._later = [node for node in builds if node in later]
        starts = [partial(self._started, node) for node in self._later]
        self._later_queries = LaterQueries(starts, time.monotonic)
        self._waited, self._ended = threading.Event(), threading.Event()

    def start(self, spark: SparkSession, stopping: threading.Event) -> Sequence[StreamingQuery]:
        """Start each query once its checkpoint is this driver's; returns early when stopping."""
        self._warm_file.unlink(missing_ok=True)
        locks = self._locks = CheckpointLocks(spark, Path(self._settings.checkpoints))
        mine = _Acquired(locks, self._builds)
        if mine.missing:
            self._wait(spark, stopping, locks, mine)
        queries = self._take_over(spark, stopping, locks, mine)
        self._waited.set()
        self._warm_file.unlink(missing_ok=True)
        locks.wait_no_more()
        return queries

    def start_more(self, spark: SparkSession) -> Sequence[StreamingQuery]:
        """Start the queries that no event waits for, once those that took over are past the worst."""
        return self._later_queries.start(spark)

    def stop(self, queries: Sequence[StreamingQuery]) -> None:
        """Hand the queries over to a warm driver, one by one; without one stop them."""
        self._waited.set()
        self._warm_file.unlink(missing_ok=True)
        if self._locks is None:
            return
        try:
            hand_over(queries, self._locks)
        finally:
            self._ended.set()
            self._locks.close()

    def _wait(
        self, spark: SparkSession, stopping: threading.Event, locks: CheckpointLocks, mine: "_Acquired"
    ) -> None:
        """Get warm, and say so."""
        _log.info("another driver is at work: rehearsing")
        had = mine.nodes
        self._rehearsal.run(spark, lambda: stopping.is_set() or mine.nodes != had)
        if stopping.is_set() or mine.nodes != had:
            return
        for node, prepare in self._prepares.items():
            prepared = self._prepared[node] = prepare(spark, self._settings)
            if prepared.use_workers:
                keep_in_use(node, prepared.use_workers, lambda: not self._waited.is_set())
        locks.wait_openly()
        self._warm_file.write_text(str(os.getpid()))
        _log.info("warm: waiting for the other driver's queries")

    def _take_over(
        self, spark: SparkSession, stopping: threading.Event, locks: CheckpointLocks, mine: "_Acquired"
    ) -> Sequence[StreamingQuery]:
        """Start the queries as their nodes come; returns early when one has ended, or when stopping."""
        takeover = Takeover(self._prompt, time.monotonic, later=self._later)
        queries: list[StreamingQuery] = []
        while not stopping.is_set() and all(query.isActive for query in queries):
            step, node = takeover.next(mine.nodes, locks.last_beat(mine.missing))
            if step is Step.DONE:
                break
            if step is Step.START:
                if not queries:
                    self._hurry()
                    _keep_beating(spark, locks, self._ended)
                queries.append(self._started(node, spark))
                _in_background(partial(_note_at_work, queries[-1], node, locks))
            elif step is Step.END_OTHER:
                _log.error("the driver at work does not answer: ending it", extra={"node": node})
                end_processes(locks.owner(node))
            else:
                mine.wait()
        self._later_queries.wait(CALM_SECONDS if self._prepared else 0)
        return queries

    def _started(self, node: str, spark: SparkSession) -> StreamingQuery:
        begun, prepared = time.monotonic(), self._prepared.get(node)
        query = prepared.start() if prepared else self._builds[node](spark, self._settings)
        _log.info(
            "query started", extra={"node": node, "start_ms": round(1_000 * (time.monotonic() - begun))}
        )
        return query


class _Acquired:
    """Nodes that this driver has locked; it waits for the others on threads, in the kernel."""

    def __init__(self, locks: CheckpointLocks, nodes: Iterable[str]) -> None:
        self._locks, self._nodes = locks, tuple(nodes)
        # Two drivers that start at the same time would each get some, and wait for the rest for ever.
        with locks.alone():
            self._acquired: set[str] = {node for node in self._nodes if locks.try_acquire(node)}
        self._failures: list[Exception] = []
        self._came = threading.Event()
        for node in self._nodes:
            if node not in self._acquired:
                _in_background(partial(self._acquire, node))

    @property
    def nodes(self) -> frozenset[str]:
        """Those that this driver has."""
        return frozenset(self._acquired)

    @property
    def missing(self) -> str:
        """A node that another driver has; empty if there is none."""
        return next((node for node in self._nodes if node not in self._acquired), "")

    def wait(self) -> None:
        """Wait for the next one, for a moment at most.

        Raises:
            Exception: if this driver's JVM has ended, so that it waits no longer.
        """
        self._came.wait(_POLL_SECONDS)
        self._came.clear()
        if self._failures:
            raise self._failures[0]

    def _acquire(self, node: str) -> None:
        try:
            self._locks.acquire(node)
            self._acquired.add(node)
        except Exception as error:  # the JVM is gone, and nothing else would show it
            self._failures.append(error)
        self._came.set()


def _in_background(work: Callable[[], None]) -> None:
    threading.Thread(target=work, daemon=True).start()


def _keep_beating(spark: SparkSession, locks: CheckpointLocks, ended: threading.Event) -> None:
    """Beat as long as the JVM answers."""
    jvm: Any = spark.sparkContext._jvm
    _in_background(partial(beat_until, ended, jvm.java.lang.System.nanoTime, locks.beat))


def _note_at_work(query: StreamingQuery, node: str, locks: CheckpointLocks) -> None:
    while not is_processing(query):
        time.sleep(_SOON_SECONDS)
    locks.note_at_work(node)
