"""A query's Python workers stay in use between its batches, and never during one."""

import os
import time
from collections.abc import Iterable, Iterator
from functools import partial
from pathlib import Path

import pyarrow as pa
from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.spark.python_worker_pool import Batches, own_workers, sign_of_life
from tests.harness.waiting import eventually

_SECONDS = 120.0


def test_workers_are_used_only_while_no_batch_needs_them(spark: SparkSession, tmp_path: Path) -> None:
    """A long batch, consecutive batches, and an idle query."""
    inbox, begun, gate = tmp_path / "inbox", tmp_path / "begun", tmp_path / "gate"
    inbox.mkdir()

    def slowly(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            begun.write_text("")
            while not gate.exists():
                time.sleep(0.01)
            yield batch

    own_workers(spark, "pauses")
    rows = spark.readStream.text(str(inbox)).mapInArrow(slowly, "value string")
    place = str(tmp_path / "checkpoint")
    query = rows.writeStream.format("noop").option("checkpointLocation", place).start()
    batches = Batches(query)
    try:
        eventually(lambda: query.status["message"] == "Waiting for data to arrive", _SECONDS)
        assert batches.pause(), "no batch has been"
        (inbox / "1").write_text("a")
        eventually(begun.exists, _SECONDS)
        assert not batches.pause()
        assert not batches.pause(), "the same batch goes on"
        gate.write_text("")
        eventually(partial(_has_ended, query), _SECONDS, every=0.01)
        assert not batches.pause(), "a batch has ended since"
        eventually(batches.pause, _SECONDS)
    finally:
        gate.write_text("")
        query.stop()


def test_a_sign_of_life_between_two_batches_uses_the_batches_worker(
    spark: SparkSession, tmp_path: Path
) -> None:
    (tmp_path / "inbox").mkdir()

    def processes(batches: Iterable[pa.RecordBatch]) -> Iterator[pa.RecordBatch]:
        for batch in batches:
            (tmp_path / f"worker-{os.getpid()}").write_text("")
            yield batch

    own_workers(spark, "signs")
    rows = spark.readStream.text(str(tmp_path / "inbox")).mapInArrow(processes, "value string")
    sign = sign_of_life(spark)
    place = str(tmp_path / "checkpoint")
    query = rows.writeStream.format("noop").option("checkpointLocation", place).start()
    batches = Batches(query)
    try:
        for number in range(3):
            (tmp_path / "inbox" / str(number)).write_text("a")
            eventually(partial(_has_read, query, number + 1), _SECONDS)
            eventually(batches.pause, _SECONDS)
            sign.collect()
        assert len(list(tmp_path.glob("worker-*"))) == 1
    finally:
        query.stop()


def _has_ended(query: StreamingQuery) -> bool:
    progress = query.lastProgress
    return progress is not None and bool(progress["numInputRows"] == 1)


def _has_read(query: StreamingQuery, rows: int) -> bool:
    return sum(int(each["numInputRows"]) for each in query.recentProgress) == rows
