"""One Spark session for all tests of DataFrame functions, with the flags the nodes run with."""

from collections.abc import Iterator

import pytest
from pyspark.sql import SparkSession

from scripts.local.class_archives import spark_archive
from scripts.local.jars import ensure_jars
from shared.runtime.settings import SparkSettings
from shared.spark.session import spark_session


@pytest.fixture(scope="session")
def spark_settings(tmp_path_factory: pytest.TempPathFactory) -> SparkSettings:
    """Settings without brokers; a test with brokers replaces `bootstrap` and `checkpoints`."""
    jars = ensure_jars(print).spark
    return SparkSettings(  # type: ignore[call-arg]  # the rest has defaults
        bootstrap="localhost:1",
        allow_loopback=True,  # the tests' destinations are on this machine
        master="local[16]",
        checkpoints=str(tmp_path_factory.mktemp("checkpoints")),
        jars=jars,
        class_archive=spark_archive(jars).file,
        # Each plan runs once or twice here, too rarely for code compiled by C2.
        java_options="-XX:+UseParallelGC -XX:TieredStopAtLevel=1",
    )


@pytest.fixture(scope="package")  # stops here, so that later measurements have the machine to themselves
def spark(spark_settings: SparkSettings) -> Iterator[SparkSession]:
    session = spark_session(spark_settings, "tests")
    yield session
    session.stop()
