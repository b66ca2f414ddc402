"""The dashboard's rows about processes: progress, requests, CPU and memory."""

from typing import Final

from scripts.dashboard.grafana import Panel, Query, Row, Unit
from scripts.dashboard.promql import percentile, rate, series, total
from scripts.dashboard.queries import gauge, p95_by, rate_by
from shared.runtime.metrics import (
    ApiMetric,
    CanaryMetric,
    CollectMetric,
    ConsoleMetric,
    DeployMetric,
    ObserveMetric,
    ProcessMetric,
    ProvisionMetric,
    RetryMetric,
    SparkMetric,
    TraceMetric,
)

_READY: Final = (
    CollectMetric.READY,
    RetryMetric.READY,
    SparkMetric.READY,
    ObserveMetric.READY,
    ConsoleMetric.READY,
    CanaryMetric.READY,
    TraceMetric.READY,
    ApiMetric.READY,
    ProvisionMetric.READY,
    DeployMetric.READY,
)


def process_rows() -> tuple[Row, ...]:
    """These rows, in the dashboard's order."""
    return _queries(), _services(), _traces(), _releases(), _costs()


def _queries() -> Row:
    return Row(
        "Spark's queries",
        (
            Panel(
                "Not read yet",
                (
                    "Records between a query's last batch and its topics' ends. A real-time batch delivers "
                    "long before it ends, so up to one batch is always shown here."
                ),
                Unit.RECORDS,
                gauge(SparkMetric.LAG, "{{query}} {{topic}}"),
            ),
            Panel("Read", "By query.", Unit.RECORDS_PER_SECOND, rate_by(SparkMetric.RECORDS_READ, "query")),
            Panel(
                "Length of the last batch",
                "Fixed by a setting in real-time queries; below a second in micro-batch queries.",
                Unit.SECONDS,
                gauge(SparkMetric.BATCH_SECONDS, "{{query}}"),
            ),
            Panel(
                "Since the last batch",
                "Grows while a query has nothing to read, and while it is stuck.",
                Unit.SECONDS,
                gauge(SparkMetric.PROGRESS_AGE, "{{query}}"),
            ),
            Panel(
                "Executors",
                "Those that take the driver's tasks; 0 if it runs all of them itself.",
                Unit.EXECUTORS,
                gauge(SparkMetric.EXECUTORS, "{{job}} {{instance}}"),
            ),
            Panel(
                "Driver's heap", "In use.", Unit.BYTES, gauge(SparkMetric.HEAP_BYTES, "{{job}} {{instance}}")
            ),
            Panel(
                "Garbage collections",
                "Share of time that the driver's JVM spends on them.",
                Unit.SHARE,
                (Query(rate(SparkMetric.GC_SECONDS), "{{job}} {{instance}}"),),
            ),
        ),
    )


def _services() -> Row:
    return Row(
        "collect and retry",
        (
            Panel(
                "Requests",
                "Answered, by status.",
                Unit.REQUESTS_PER_SECOND,
                rate_by(CollectMetric.REQUESTS, "status"),
            ),
            Panel(
                "p95 of collect",
                "From a request's head to its response; and Kafka's part of it.",
                Unit.SECONDS,
                (
                    Query(percentile(CollectMetric.REQUEST_SECONDS, 0.95), "request"),
                    Query(percentile(CollectMetric.ACK_SECONDS, 0.95), "Kafka"),
                ),
            ),
            Panel(
                "Refused events",
                "By the part of the event that was wrong.",
                Unit.EVENTS_PER_SECOND,
                rate_by(CollectMetric.REFUSED, "field"),
            ),
            Panel(
                "Requests in flight",
                "Over all processes of collect.",
                Unit.REQUESTS,
                (Query(total(series(CollectMetric.IN_FLIGHT)), "in flight"),),
            ),
            Panel(
                "Released by retry",
                "Records whose delay is over, on their way back to transmit, by topic.",
                Unit.RECORDS_PER_SECOND,
                rate_by(RetryMetric.RELEASED, "topic"),
            ),
            Panel(
                "p95 of retry's lateness",
                "From the time a record was due until retry wrote it, by topic.",
                Unit.SECONDS,
                p95_by(RetryMetric.LATE_SECONDS, "topic"),
            ),
            Panel(
                "Overdue before retry",
                "Since the first record of the latest partition was due, by topic. Bursts are spread over "
                "half of the topic's delay.",
                Unit.SECONDS,
                (Query(series(ObserveMetric.OVERDUE), "{{topic}}"),),
            ),
        ),
    )


def _traces() -> Row:
    return Row(
        "Traces",
        (
            Panel(
                "Exported spans",
                "Acknowledged by the receiver, and refused by it for good: those are dropped.",
                Unit.SPANS_PER_SECOND,
                (
                    Query(total(rate(TraceMetric.EXPORTED)), "exported"),
                    Query(total(rate(TraceMetric.DROPPED)), "dropped"),
                ),
            ),
            Panel(
                "Batches sent again",
                "The receiver did not acknowledge them, or not in time.",
                Unit.REQUESTS_PER_SECOND,
                (Query(total(rate(TraceMetric.REFUSED)), "sent again"),),
            ),
            Panel(
                "Unreadable trace records",
                "Skipped.",
                Unit.RECORDS_PER_SECOND,
                (Query(total(rate(TraceMetric.UNREADABLE)), "skipped"),),
            ),
        ),
    )


def _releases() -> Row:
    return Row(
        "Releases",
        (
            Panel(
                "In the present step",
                "How long the release under way has been in its step; empty without one.",
                Unit.SECONDS,
                (Query(f"max by (step) ({series(DeployMetric.STEP_SECONDS)}) > 0", "{{step}}"),),
            ),
            Panel(
                "Reasons to wait",
                "Why the release may not go on now: `hifi sides` says them.",
                Unit.REASONS,
                (Query(f"max({series(DeployMetric.WAITS)})", "reasons"),),
            ),
        ),
    )


def _costs() -> Row:
    instance, part = "{{job}} {{instance}}", "{{job}} {{instance}} {{part}}"
    return Row(
        "Processes",
        (
            Panel(
                "CPU",
                "Cores in use. Spark's JVM and its Python workers, ended ones included, are separate.",
                Unit.CORES,
                (
                    Query(rate(ProcessMetric.CPU_SECONDS), instance),
                    Query(rate(SparkMetric.CPU_SECONDS, part="~jvm|workers"), part),
                ),
                stacked=True,
            ),
            Panel(
                "Memory",
                "Resident.",
                Unit.BYTES,
                (
                    Query(series(ProcessMetric.MEMORY_BYTES), instance),
                    Query(series(SparkMetric.MEMORY_BYTES, part="~jvm|workers"), part),
                ),
                stacked=True,
            ),
            Panel(
                "Restarts",
                "Over an hour.",
                Unit.RESTARTS,
                (Query(f"changes({series(ProcessMetric.STARTED)}[1h])", instance),),
            ),
            Panel(
                "Ready",
                "1 where /readyz answers 200.",
                Unit.READY,
                tuple(Query(series(metric), instance) for metric in _READY),
                width=16,
            ),
            Panel(
                "Builds",
                "Processes of each version.",
                Unit.PROCESSES,
                (Query(f"count by (version) ({series(ProcessMetric.BUILD)})", "{{version}}"),),
                stacked=True,
            ),
        ),
    )
