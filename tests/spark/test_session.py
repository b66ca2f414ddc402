"""Settings of a process's Spark session."""

from pyspark.sql import SparkSession


def test_the_heap_has_its_full_size_from_the_start(spark: SparkSession) -> None:
    """A growing heap would need a full collection each time, which stops everything."""
    assert spark._jvm is not None
    heap = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    assert heap.getInit() == 1024**3
