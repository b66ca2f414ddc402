"""Python workers of a node: forked with its modules imported, replaced when they are killed."""

import os
import signal
import sys
from collections.abc import Iterable, Iterator

import psutil
import pyarrow as pa
import pytest
from pyspark.sql import SparkSession

from shared.spark import worker_daemon
from shared.spark.python_worker_pool import own_workers

NODE = "tests-worker-pool"
MODULE = "pipelines.control.audit.aggregation"
"""Not imported here: the workers import this file."""


def _seen(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
    """The worker's process id, and how many of the node's modules it has before it needs them."""
    for _ in batches:
        have = MODULE in sys.modules
        yield pa.RecordBatch.from_pydict({"pid": pa.array([os.getpid()]), "have": pa.array([have])})


@pytest.fixture
def look(spark: SparkSession) -> Iterator[object]:
    own_workers(spark, NODE, MODULE)
    yield lambda: spark.range(0, 1, numPartitions=1).mapInArrow(_seen, "pid long, have boolean").first()
    own_workers(spark, "")


def test_a_worker_that_replaces_a_killed_one_has_its_modules(look: object) -> None:
    assert callable(look)
    first = look()
    daemon = psutil.Process(first.pid).parent()
    assert daemon is not None
    assert worker_daemon.__name__ in daemon.cmdline()
    os.kill(first.pid, signal.SIGKILL)
    second = look()
    assert second.pid != first.pid
    assert psutil.Process(second.pid).parent() == daemon
    assert first.have
    assert second.have
