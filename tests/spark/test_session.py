"""What the one session of a process begins with."""

from pyspark.sql import SparkSession


def test_the_heap_has_its_full_size_from_the_start(spark: SparkSession) -> None:
    """To grow, it would be collected whole each time, and everything stands still for that long."""
    assert spark._jvm is not None
    heap = spark._jvm.java.lang.management.ManagementFactory.getMemoryMXBean().getHeapMemoryUsage()
    assert heap.getInit() == 1024**3
