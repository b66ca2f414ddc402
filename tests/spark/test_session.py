"""Settings of a process's Spark session."""

from typing import Any

import pytest
from py4j.clientserver import JavaClient  # type: ignore[import-untyped]
from pyspark.sql import SparkSession
from pyspark.sql import functions as fn


def test_the_heap_has_its_full_size_from_the_start(spark: SparkSession) -> None:
    """A growing heap would need a full collection each time, which stops everything."""
    assert spark._jvm is not None
    heap = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    assert heap.getInit() == 1024**3


def test_an_expression_costs_only_the_calls_that_make_it(
    spark: SparkSession, monkeypatch: pytest.MonkeyPatch
) -> None:
    """Spark would also record which line of Python made it: nine more calls for each of some hundred."""
    column, calls = fn.col("n"), []
    send = JavaClient.send_command

    def counted(client: JavaClient, command: str, *given: Any, **named: Any) -> Any:
        calls.append(command)
        return send(client, command, *given, **named)

    monkeypatch.setattr(JavaClient, "send_command", counted)
    column.isNull()
    monkeypatch.undo()
    assert len(calls) == 1, calls
