"""Settings of a process's Spark session."""

from pathlib import Path
from typing import Any

import pytest
from py4j.clientserver import JavaClient  # type: ignore[import-untyped]
from py4j.protocol import MEMORY_COMMAND_NAME  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn

from tests.harness.waiting import eventually


def test_the_heap_has_its_full_size_from_the_start(spark: SparkSession) -> None:
    """A growing heap would need a full collection at each step, which stops everything."""
    assert spark._jvm is not None
    heap = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    assert heap.getInit() == 1024**3


def test_an_expression_costs_only_the_calls_that_make_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would also record the Python line that made it, and search all jars for the class of functions:
    ten more calls for each of some hundred expressions.
    """
    fn.col("n").isNull()  # the first one looks up the setting
    calls: list[str] = []
    send = JavaClient.send_command

    def counted(client: JavaClient, command: str, *given: Any, **named: Any) -> Any:
        if not command.startswith(MEMORY_COMMAND_NAME):  # released objects
            calls.append(command)
        return send(client, command, *given, **named)

    monkeypatch.setattr(JavaClient, "send_command", counted)
    fn.col("n").isNull()
    monkeypatch.undo()
    assert len(calls) == 3, calls  # one finds the method `col`, and one calls each of the two


def test_a_checkpoint_has_no_files_of_checksums(spark: SparkSession, tmp_path: Path) -> None:
    """Each of these files would cost one more `chmod` process."""
    _run_batches(spark, tmp_path)
    assert not list(tmp_path.rglob("*.crc"))


def test_a_checkpoint_with_files_of_checksums_is_gone_on_from(spark: SparkSession, tmp_path: Path) -> None:
    _write_checksums(spark, tmp_path, True)
    try:
        _run_batches(spark, tmp_path)
    finally:
        _write_checksums(spark, tmp_path, False)
    before = _committed(tmp_path)
    assert (tmp_path / f"commits/.{max(before)}.crc").exists()
    assert max(_run_batches(spark, tmp_path)) > max(before)


def test_a_batch_that_is_repeated_leaves_no_checksum_of_its_former_file(
    spark: SparkSession, tmp_path: Path
) -> None:
    """Spark would compare the new file with it: the query could not start any more."""
    _write_checksums(spark, tmp_path, True)
    try:
        last = max(_run_batches(spark, tmp_path))
    finally:
        _write_checksums(spark, tmp_path, False)
    (tmp_path / f"commits/{last}").unlink()
    (tmp_path / f"commits/.{last}.crc").write_bytes(b"of another file")
    _run_batches(spark, tmp_path)
    assert not (tmp_path / f"commits/.{last}.crc").exists()
    _run_batches(spark, tmp_path)


def _run_batches(spark: SparkSession, checkpoint: Path) -> set[int]:
    """Run a query until it has committed a batch; returns all committed ones."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1_000).load()
    former = _committed(checkpoint)
    query = rows.writeStream.format("noop").option("checkpointLocation", str(checkpoint)).start()
    try:
        eventually(lambda: query.exception() is not None or len(_committed(checkpoint) - former) > 1)
        assert query.exception() is None
    finally:
        query.stop()
    return _committed(checkpoint)


def _committed(checkpoint: Path) -> set[int]:
    return {int(each.name) for each in (checkpoint / "commits").glob("*") if each.name.isdigit()}


def _write_checksums(spark: SparkSession, checkpoint: Path, written: bool) -> None:
    jvm: Any = spark._jvm
    folder = jvm.org.apache.hadoop.fs.Path(str(checkpoint))
    folder.getFileSystem(spark.sparkContext._jsc.hadoopConfiguration()).setWriteChecksum(written)
