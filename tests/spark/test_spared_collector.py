"""Spark collects garbage in a Python worker after each task, but spares imported modules."""

import gc
import time
from collections.abc import Iterable, Iterator

import pyarrow as pa
from pyspark.sql import SparkSession

from pipelines.control.audit.job import NODE as AUDIT
from pipelines.control.audit.schema import OUTPUT
from pipelines.control.audit.transforms import rows
from pipelines.control.audit.worker import audit
from pipelines.data.route.job import pipes
from shared.contracts.documents import Pipe
from shared.runtime.settings import SparkSettings
from shared.spark.python_worker_pool import own_workers
from tests.harness.topics import Topics
from tests.spark.audit_records import collected, frame

_MOST_WORKERS = 4
"""Workers in a pool here: those that a test uses, and those with which Spark plans its reading."""


def test_a_worker_that_has_read_the_pipes_is_spared(
    spark: SparkSession, spark_settings: SparkSettings, topics: str
) -> None:
    Topics(topics).publish(Pipe(name="all", tenant="acme", source="player", destination="lake"))
    settings = spark_settings.model_copy(update={"bootstrap": topics})
    pipes(spark, settings, speaks=False).collect()
    assert _is_one_spared(spark)


def test_a_worker_that_has_tallied_is_spared_and_one_without_rows_is_not(spark: SparkSession) -> None:
    own_workers(spark, AUDIT, audit.__module__)
    events = rows(frame(spark, [collected("a", "b")]))
    assert events.where("false").mapInArrow(audit, OUTPUT).collect() == []
    assert not _is_one_spared(spark)
    assert events.coalesce(1).mapInArrow(audit, OUTPUT).collect()
    assert _is_one_spared(spark)


def _is_one_spared(spark: SparkSession) -> bool:
    """Whether one worker of the most recently used pool is spared; all of them take part."""
    asked = spark.range(0, _MOST_WORKERS, numPartitions=_MOST_WORKERS)
    return any(row.first > 10_000 for row in asked.mapInArrow(_thresholds, "first long").collect())


def _thresholds(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    for batch in batches:
        time.sleep(1)  # so that no worker takes two of the tasks
        yield pa.RecordBatch.from_pydict({"first": [gc.get_threshold()[0]] * batch.num_rows})
