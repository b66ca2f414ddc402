"""Settings of a process's Spark session."""

from typing import Any

import pytest
from py4j.clientserver import JavaClient  # type: ignore[import-untyped]
from py4j.protocol import MEMORY_COMMAND_NAME  # type: ignore[import-untyped]
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
    """Spark would also record which line of Python made it, and search all jars for the class of functions:
    ten more calls for each of some hundred expressions."""
    fn.col("n").isNull()  # the first one looks up the setting
    calls: list[str] = []
    send = JavaClient.send_command

    def counted(client: JavaClient, command: str, *given: Any, **named: Any) -> Any:
        if not command.startswith(MEMORY_COMMAND_NAME):  # of objects that are no longer used
            calls.append(command)
        return send(client, command, *given, **named)

    monkeypatch.setattr(JavaClient, "send_command", counted)
    fn.col("n").isNull()
    monkeypatch.undo()
    assert len(calls) == 3, calls  # one finds the method `col`, and one calls each of the two
