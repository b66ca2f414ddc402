"""audit's Spark query: every tallied topic to `ledger`, and traced events to `traces`, in micro-batches."""

import functools
from typing import Final

from pyspark.sql import SparkSession
from pyspark.sql import functions as fn
from pyspark.sql.streaming.query import StreamingQuery

from pipelines.control.audit.audit_start import uncovered_offsets
from pipelines.control.audit.schema import OUTPUT
from pipelines.control.audit.settings import AuditSettings
from pipelines.control.audit.transforms import rows
from pipelines.control.audit.worker import audit
from shared.contracts.topics import REHEARSAL
from shared.contracts.topology import INPUTS
from shared.runtime.settings import SparkSettings
from shared.spark.prepared_query import PreparedQuery
from shared.spark.python_worker_pool import own_workers, sign_of_life
from shared.spark.session import MICROBATCH_FETCH_WAIT_MS, read_topics, repeatable_writer

NODE: Final = "audit"


def build(spark: SparkSession, settings: SparkSettings) -> StreamingQuery:
    """Start the query.

    One Kafka partition is one Spark partition, which `coalesce` keeps whole: its records reach one task, in
    order, and begin where the batch does. So a repeated batch writes the same ranges.
    """
    own = _own(settings)
    records = read_topics(
        spark,
        own,
        *INPUTS[NODE],
        starting=uncovered_offsets(spark, own, NODE, *INPUTS[NODE]),
        fetch_wait_ms=MICROBATCH_FETCH_WAIT_MS,
        most_records=own.audit_batch_records,
    )
    _own_workers(spark)
    # A rehearsal's topics are tallied as those after which they are named; the plan is the same for both.
    named = records.withColumn("topic", fn.substring_index("topic", REHEARSAL, -1))
    tallies = rows(named).coalesce(own.audit_tasks).mapInArrow(audit, OUTPUT)
    return repeatable_writer(tallies, own, NODE, own.audit_trigger).start()


def prepare(spark: SparkSession, settings: SparkSettings) -> PreparedQuery:
    """The query, not even built, as where it starts is not known yet; but its worker is kept in use."""
    _own_workers(spark)
    return PreparedQuery(
        start=functools.partial(build, spark, settings), use_workers=sign_of_life(spark).collect
    )


def _own_workers(spark: SparkSession) -> None:
    own_workers(spark, NODE, audit.__module__)


def _own(settings: SparkSettings) -> AuditSettings:
    """Settings of audit's own come from the environment where `settings` has none."""
    return settings if isinstance(settings, AuditSettings) else AuditSettings(**settings.model_dump())
