"""One Spark session for all tests of DataFrame functions, with the nodes' flags."""

from collections.abc import Iterator
from typing import Any

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
        allow_loopback=True,  # the tests' destinations run on this machine
        master="local[16]",
        checkpoints=str(tmp_path_factory.mktemp("checkpoints")),
        jars=jars,
        class_archive=spark_archive(jars).file,
        # Each plan runs once or twice here, too rarely for code compiled by C2. The classes of all the plans
        # have room from the start: each growth would be a full collection.
        java_options="-XX:+UseParallelGC -XX:TieredStopAtLevel=1 -XX:MetaspaceSize=256m "
        "-XX:ReservedCodeCacheSize=128m",
    )


@pytest.fixture(scope="module")
def given(request: pytest.FixtureRequest) -> dict[str, tuple[Any, ...]]:
    """The arguments of this module's marks `given`, by test.

    A module's fixture makes one job of all of them: building and planning a query takes Spark seconds, and
    one more row nothing.
    """
    marks = ((item, item.get_closest_marker("given")) for item in request.session.items)
    return {item.nodeid: mark.args for item, mark in marks if mark and item.path == request.path}


@pytest.fixture(scope="package")  # stops here, so that later measurements have the machine to themselves
def spark(spark_settings: SparkSettings) -> Iterator[SparkSession]:
    session = spark_session(spark_settings, "tests")
    yield session
    session.stop()
