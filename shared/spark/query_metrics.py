"""A Spark application's Prometheus metrics; their names are in shared/runtime/metrics.py."""

import os
import threading
from collections.abc import Mapping, Sequence
from contextlib import suppress
from datetime import datetime
from typing import Any, Final

from confluent_kafka import TopicPartition
from prometheus_client import Counter, Gauge
from pyspark.sql import SparkSession

from shared.kafka.progress_group import progress_offsets
from shared.runtime.clock import Clock, wall_clock
from shared.runtime.metrics import SparkMetric
from shared.runtime.process_metrics import process_registry
from shared.spark.driver_metrics import PartsCollector

_COUNT_SECONDS: Final = 1.0

Partition = tuple[str, int]
"""Topic and partition."""


class QueryMetrics:
    """Metrics of an application's queries and processes, in their own registry."""

    def __init__(self, process: str, clock: Clock = wall_clock) -> None:
        self.registry = into = process_registry(process)
        into.register(PartsCollector(os.getpid()))
        self._clock = clock
        self._offsets: dict[str, dict[Partition, int]] = {}
        self._awaited_ms: dict[str, float] = {}
        """Since when the end of a batch has been awaited, by query; a restart of the query keeps it."""

        self._collected = 0.0
        self.ready = Gauge(SparkMetric.READY, "1 when ready", registry=into)
        self._read = Counter(SparkMetric.RECORDS_READ, "Records read", ["query"], registry=into)
        self._lag = Gauge(
            SparkMetric.LAG, "Records that the query has not read yet", ["query", "topic"], registry=into
        )
        self._batch = Gauge(
            SparkMetric.BATCH_SECONDS, "Seconds that the last batch took", ["query"], registry=into
        )
        self._age = Gauge(
            SparkMetric.PROGRESS_AGE,
            "Seconds since the last batch ended, or since the start if none has",
            ["query"],
            registry=into,
        )
        self._executors = Gauge(SparkMetric.EXECUTORS, "Executors that take tasks", registry=into)
        self._heap = Gauge(SparkMetric.HEAP_BYTES, "Bytes of heap in use", registry=into)
        self._gc = Counter(SparkMetric.GC_SECONDS, "Seconds spent in garbage collections", registry=into)

    def take(self, query: str, progress: Mapping[str, Any], ends: Sequence[TopicPartition]) -> None:
        """Update a query's metrics from its last StreamingQueryProgress and the ends of its topics."""
        ended_ms = self._awaited_ms[query] = _ended_ms(progress)
        self._batch.labels(query).set(_seconds(progress))
        self._age.labels(query).set_function(lambda: max(0, self._clock() - ended_ms) / 1000)
        offsets = by_partition(progress_offsets(progress))
        known = self._offsets.get(query)
        # The start of the first batch is unknown; only how much it read is reported.
        read = int(progress["numInputRows"]) if known is None else advanced(known, offsets)
        self._read.labels(query).inc(read)
        self._offsets[query] = offsets
        self._show_lags(query, offsets, ends)

    def await_first(
        self, query: str, committed: Sequence[TopicPartition], ends: Sequence[TopicPartition]
    ) -> None:
        """Show how long a query without a first batch has ended none, and what waits since its former life.

        A batch that no worker takes never ends, and nothing else would show that the query stands.
        """
        since_ms = self._awaited_ms.setdefault(query, self._clock())
        self._age.labels(query).set_function(lambda: max(0, self._clock() - since_ms) / 1000)
        self._show_lags(query, by_partition(committed), ends)

    def _show_lags(
        self, query: str, offsets: Mapping[Partition, int], ends: Sequence[TopicPartition]
    ) -> None:
        for topic, records in lags(offsets, by_partition(ends)).items():
            self._lag.labels(query, topic).set(records)

    def count_executors(
        self, spark: SparkSession, stopping: threading.Event, seconds: float = _COUNT_SECONDS
    ) -> None:
        """Count executors each `seconds` until stopping, on a thread: a scrape must not wait for the JVM.

        They stay 0 if the driver runs all tasks itself.
        """
        if spark.sparkContext._jsc.isLocal():
            return

        def count() -> None:
            while not stopping.wait(seconds):
                with suppress(Exception):  # of Py4J: the JVM has ended, which is noticed elsewhere
                    self._executors.set(_executors(spark))

        threading.Thread(target=count, name="executors", daemon=True).start()

    def look_at_jvm(self, spark: SparkSession) -> None:
        """Read heap and garbage collections from the driver's JVM."""
        jvm: Any = spark.sparkContext._jvm
        beans = jvm.java.lang.management.ManagementFactory
        self._heap.set(beans.getMemoryMXBean().getHeapMemoryUsage().getUsed())
        collected = sum(bean.getCollectionTime() for bean in beans.getGarbageCollectorMXBeans()) / 1000
        self._gc.inc(max(0.0, collected - self._collected))
        self._collected = collected


def takes_tasks(spark: SparkSession) -> bool:
    """Whether there is something that takes a driver's tasks: itself, or an executor of its cluster."""
    return bool(spark.sparkContext._jsc.isLocal()) or _executors(spark) > 0


def _executors(spark: SparkSession) -> int:
    """Executors that take a driver's tasks."""
    tracker: Any = spark.sparkContext._jsc.sc().statusTracker()
    return max(0, len(tracker.getExecutorInfos()) - 1)  # the driver is among them once it knows itself


def by_partition(offsets: Sequence[TopicPartition]) -> dict[Partition, int]:
    """Offsets by topic and partition."""
    return {(at.topic, at.partition): at.offset for at in offsets}


def advanced(before: Mapping[Partition, int], after: Mapping[Partition, int]) -> int:
    """Number of records between two positions, over the partitions in both.

    A recreated partition starts again at 0 and counts neither as progress nor as a step back.
    """
    return sum(max(0, offset - before[place]) for place, offset in after.items() if place in before)


def lags(offsets: Mapping[Partition, int], ends: Mapping[Partition, int]) -> dict[str, int]:
    """Records by topic between a query's position and the ends, over the partitions in both."""
    found: dict[str, int] = {}
    for (topic, partition), end in ends.items():
        if (topic, partition) in offsets:
            found[topic] = found.get(topic, 0) + max(0, end - offsets[topic, partition])
    return found


def _seconds(progress: Mapping[str, Any]) -> float:
    return float(progress["batchDuration"]) / 1000


def _ended_ms(progress: Mapping[str, Any]) -> float:
    began = datetime.fromisoformat(str(progress["timestamp"]))
    return began.timestamp() * 1000 + float(progress["batchDuration"])
