"""A batch of route uses every pipe published before the batch began."""

import time
from uuid import uuid4

from pyspark.sql import SparkSession

from pipelines.data.route.job import pipes
from pipelines.data.route.pipe_datasource import _CURRENT_SECONDS
from shared.contracts.documents import Pipe
from shared.runtime.settings import SparkSettings
from tests.harness.topics import Topics
from tests.harness.waiting import eventually

_BATCHES = 10


def test_a_batch_has_each_pipe_that_was_there_when_it_began(
    spark: SparkSession, spark_settings: SparkSettings, topics: str
) -> None:
    records, name = Topics(topics), f"fresh-{uuid4().hex[:8]}"
    settings = spark_settings.model_copy(update={"bootstrap": topics})
    table = pipes(spark, settings, speaks=False).where(f"pipes_tenant = '{name}'").select("pipes_source")

    def found() -> set[str]:
        return {row.pipes_source for row in table.collect()}

    for number in range(_BATCHES):
        records.publish(Pipe(name=f"p{number}", tenant=name, source=f"s{number}", destination="lake"))
        began = time.monotonic()
        has_all = found() == {f"s{n}" for n in range(number + 1)}
        assert has_all or time.monotonic() - began >= _CURRENT_SECONDS, "it did not wait"
    eventually(lambda: found() == {f"s{n}" for n in range(_BATCHES)})
