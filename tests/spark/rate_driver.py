"""An application with a query that needs no brokers: `python -m tests.spark.rate_driver LOOKS`.

It ends after LOOKS looks without an executor.
"""

import sys
from unittest.mock import patch

from pyspark.sql import SparkSession
from pyspark.sql.streaming.query import StreamingQuery

from shared.runtime.settings import SparkSettings
from shared.spark.application import run_application


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """A query of one row a second, which it drops."""
    rows = spark.readStream.format("rate").option("rowsPerSecond", 1).load()
    checkpoint = f"{settings.checkpoints}/rate"
    return rows.writeStream.queryName("rate").format("noop").option("checkpointLocation", checkpoint).start()


if __name__ == "__main__":
    with patch("shared.spark.missing_executors.MISSING_LOOKS", int(sys.argv[1])):
        sys.exit(run_application("rate", SparkSettings(), (build,)))  # type: ignore[call-arg]  # environment
