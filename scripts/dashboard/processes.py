"""Rows about processes: how far queries are, and what everything costs."""

from typing import Final

from scripts.dashboard.grafana import Panel, Query, Row, Unit
from scripts.dashboard.promql import percentile, rate, series, total
from shared.runtime.metrics import (
    CanaryMetric,
    CollectMetric,
    ConsoleMetric,
    ObserveMetric,
    ProcessMetric,
    RetryMetric,
    SparkMetric,
)

_READY: Final = (
    CollectMetric.READY,
    RetryMetric.READY,
    SparkMetric.READY,
    ObserveMetric.READY,
    ConsoleMetric.READY,
    CanaryMetric.READY,
)


def process_rows() -> tuple[Row, ...]:
    """Their rows, in the dashboard's order."""
    return _queries(), _doors(), _costs()


def _queries() -> Row:
    return Row(
        title="Spark's queries",
        panels=(
            Panel(
                title="Not read yet",
                text="Records between a query's last batch and its topics' ends. A real-time batch delivers "
                "long before it ends, so up to a batch's worth is always here.",
                unit=Unit.RECORDS,
                queries=(Query(series(SparkMetric.LAG), "{{query}} {{topic}}"),),
            ),
            Panel(
                title="Read",
                text="By query.",
                unit=Unit.RECORDS_PER_SECOND,
                queries=(Query(total(rate(SparkMetric.RECORDS_READ), "query"), "{{query}}"),),
            ),
            Panel(
                title="Length of the last batch",
                text="A real-time query's is its setting; a micro-batch query's should stay below a second.",
                unit=Unit.SECONDS,
                queries=(Query(series(SparkMetric.BATCH_SECONDS), "{{query}}"),),
            ),
            Panel(
                title="Since the last batch",
                text="It grows while a query has nothing to read, and while one stands still.",
                unit=Unit.SECONDS,
                queries=(Query(series(SparkMetric.PROGRESS_AGE), "{{query}}"),),
            ),
            Panel(
                title="Driver's heap",
                text="In use.",
                unit=Unit.BYTES,
                queries=(Query(series(SparkMetric.HEAP_BYTES), "{{job}} {{instance}}"),),
            ),
            Panel(
                title="Garbage collections",
                text="Share of the time that the driver's JVM spends in them.",
                unit=Unit.SHARE,
                queries=(Query(rate(SparkMetric.GC_SECONDS), "{{job}} {{instance}}"),),
            ),
        ),
    )


def _doors() -> Row:
    return Row(
        title="collect and retry",
        panels=(
            Panel(
                title="Requests",
                text="Answered, by status.",
                unit=Unit.REQUESTS_PER_SECOND,
                queries=(Query(total(rate(CollectMetric.REQUESTS), "status"), "{{status}}"),),
            ),
            Panel(
                title="p95 of collect",
                text="From a request's head to its reply; the part of it that Kafka took.",
                unit=Unit.SECONDS,
                queries=(
                    Query(percentile(CollectMetric.REQUEST_SECONDS, 0.95), "request"),
                    Query(percentile(CollectMetric.ACK_SECONDS, 0.95), "Kafka"),
                ),
            ),
            Panel(
                title="Refused events",
                text="By the part of the event that was wrong.",
                unit=Unit.EVENTS_PER_SECOND,
                queries=(Query(total(rate(CollectMetric.REFUSED), "field"), "{{field}}"),),
            ),
            Panel(
                title="Requests in flight",
                text="Over all of collect's processes.",
                unit=Unit.REQUESTS,
                queries=(Query(total(series(CollectMetric.IN_FLIGHT)), "in flight"),),
            ),
            Panel(
                title="Tried again",
                text="Records that waited and are on their way to transmit again, by topic.",
                unit=Unit.RECORDS_PER_SECOND,
                queries=(Query(total(rate(RetryMetric.RELEASED), "topic"), "{{topic}}"),),
            ),
            Panel(
                title="p95 of being late with it",
                text="From the moment a record was due until retry wrote it, by topic.",
                unit=Unit.SECONDS,
                queries=(Query(percentile(RetryMetric.LATE_SECONDS, 0.95, "topic"), "{{topic}}"),),
            ),
        ),
    )


def _costs() -> Row:
    instance, part = "{{job}} {{instance}}", "{{job}} {{instance}} {{part}}"
    return Row(
        title="Processes",
        panels=(
            Panel(
                title="CPU",
                text="Cores in use. Spark's JVM and its Python workers, ended ones too, are told apart.",
                unit=Unit.CORES,
                queries=(
                    Query(rate(ProcessMetric.CPU_SECONDS), instance),
                    Query(rate(SparkMetric.CPU_SECONDS, part="~jvm|workers"), part),
                ),
                stacked=True,
            ),
            Panel(
                title="Memory",
                text="Resident.",
                unit=Unit.BYTES,
                queries=(
                    Query(series(ProcessMetric.MEMORY_BYTES), instance),
                    Query(series(SparkMetric.MEMORY_BYTES, part="~jvm|workers"), part),
                ),
                stacked=True,
            ),
            Panel(
                title="Restarts",
                text="Over an hour.",
                unit=Unit.RESTARTS,
                queries=(Query(f"changes({series(ProcessMetric.STARTED)}[1h])", instance),),
            ),
            Panel(
                title="Ready",
                text="1 where /readyz answers 200.",
                unit=Unit.READY,
                queries=tuple(Query(series(metric), instance) for metric in _READY),
                width=16,
            ),
            Panel(
                title="Builds",
                text="Processes of each version.",
                unit=Unit.PROCESSES,
                queries=(Query(f"count by (version) ({series(ProcessMetric.BUILD)})", "{{version}}"),),
                stacked=True,
            ),
        ),
    )
