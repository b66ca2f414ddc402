"""Names of all Prometheus metrics, so that alarms, the autoscaler and the code agree on them.

A counter's name is given without the `_total` that Prometheus' exposition appends.
"""

from enum import StrEnum


class CollectMetric(StrEnum):
    """Metrics of collect, at /metrics."""

    REQUESTS = "hifi_collect_requests"
    """Counter by `status`: requests to /v1/events that were answered."""

    EVENTS = "hifi_collect_events"
    """Counter: events acknowledged with a 2xx."""

    REFUSED = "hifi_collect_refused_events"
    """Counter by `field`: events refused one by one, and the part of them that was wrong."""

    LATE = "hifi_collect_late_events"
    """Counter: acknowledged events with a time outside the window, tallied at the receive time."""

    BODY_BYTES = "hifi_collect_body_bytes"
    """Counter: bytes of request bodies after decompression."""

    ABANDONED = "hifi_collect_abandoned_requests"
    """Counter: requests that the client abandoned before its last byte."""

    IN_FLIGHT = "hifi_collect_in_flight_requests"
    """Gauge: requests being handled."""

    HELD_BYTES = "hifi_collect_held_body_bytes"
    """Gauge: bytes that the bodies of these requests hold, after decompression."""

    REQUEST_SECONDS = "hifi_collect_request_seconds"
    """Histogram: from the request's head to its reply, for requests with events that were judged."""

    ACK_SECONDS = "hifi_collect_ack_seconds"
    """Histogram: how long Kafka took to acknowledge a request's records."""

    READY = "hifi_collect_ready"
    """Gauge: 1 when /readyz answers 200."""


class RetryMetric(StrEnum):
    """Metrics of retry, at /metrics."""

    RELEASED = "hifi_retry_released_records"
    """Counter by `topic`: records that waited there and are on their way to transmit again."""

    QUARANTINED = "hifi_retry_quarantined_records"
    """Counter: waiting records that could not be read."""

    LATE_SECONDS = "hifi_retry_late_seconds"
    """Histogram by `topic`: from the moment a record was due until it was written."""

    READY = "hifi_retry_ready"
    """Gauge: 1 when /readyz answers 200."""


class ObserveMetric(StrEnum):
    """Metrics of observe, at /metrics. `quantile` is 0.5, 0.95 or 0.99; tenant `*` is all of them."""

    LAG = "hifi_observe_lag_milliseconds"
    """Gauge by `tenant`, `node`, `edge` (in or out) and `quantile`: how late events were there, over the last
    whole minute."""

    PROCESS = "hifi_observe_process_milliseconds"
    """Gauge by `node`: what the node adds, lag-out p95 minus lag-in p95 of all tenants, over the last whole
    minute."""

    END_TO_END = "hifi_observe_end_to_end_milliseconds"
    """Gauge by `tenant` and `quantile`: from the time that names the minute to leaving hifi, over the last
    whole minute."""

    INSIDE = "hifi_observe_inside_milliseconds"
    """Gauge by `tenant` and `quantile`: from entering hifi to leaving it, over the last whole minute."""

    EVENTS_PER_SECOND = "hifi_observe_events_per_second"
    """Gauge by `tenant`: events that came in, over the last whole minute."""

    LOST = "hifi_observe_lost_events"
    """Counter by `tenant` and `node`: events proven lost there."""

    DOUBLED = "hifi_observe_doubled_events"
    """Counter by `tenant` and `node`: events written there more often than taken."""

    SLI = "hifi_observe_sli"
    """Gauge by `tenant`: good deliveries over those owed, 0 to 1, of the last judged minute."""

    NINES = "hifi_observe_nines"
    """Gauge by `tenant`: today's."""

    MINUTES_SPENT = "hifi_observe_minutes_spent"
    """Gauge by `tenant`: today's minutes that broke a promise."""

    LOSS_PERCENT = "hifi_observe_loss_percent"
    """Gauge by `tenant`: of today's deliveries owed."""

    MINUTES_OPEN = "hifi_observe_open_minutes"
    """Gauge: minutes of tenants that are not settled yet."""

    BEHIND_SECONDS = "hifi_observe_behind_seconds"
    """Gauge: how far audit and observe are behind the topics; 0 when they have read all."""

    LEDGER_OFFSET = "hifi_observe_ledger_offset"
    """Gauge: the next offset of the ledger to be read."""

    WATCHED = "hifi_observe_watched_events"
    """Counter by `tenant`: events of which a watched field was counted, once for each field."""

    OPEN_ALARMS = "hifi_observe_open_alarms"
    """Gauge by `kind`: alarms that are not resolved."""

    DELIVERED = "hifi_observe_destination_delivered"
    """Counter by `tenant` and `destination`: delivered events. A deleted destination's series ends an hour
    after the last count."""

    FAILED = "hifi_observe_destination_failed"
    """Counter by `tenant` and `destination`: tries that ended in a retry or a dead letter; ends likewise."""

    WAITING = "hifi_observe_waiting_events"
    """Gauge by `tenant` and `pipe`: events that wait to be retried."""

    OVERDUE = "hifi_observe_retry_overdue_seconds"
    """Gauge by `topic`: since the first record of a retry topic was due, of its latest partition; 0 if none
    is due. A burst of them is spread over half of the topic's delay."""

    UNREAD = "hifi_observe_unread_records"
    """Gauge by `node`: records on its input topics that it has not read; retry's need not be due."""

    READY = "hifi_observe_ready"
    """Gauge: 1 when /readyz answers 200."""


class SparkMetric(StrEnum):
    """Metrics of a Spark application, at /metrics: one series for each of its queries, by `query`."""

    RECORDS_READ = "hifi_spark_read_records"
    """Counter by `query`: records read in the batches that ended since the application started."""

    LAG = "hifi_spark_lag_records"
    """Gauge by `query` and `topic`: records between the end of the last batch and that of the topic. A
    real-time batch delivers long before it ends: then up to a batch's worth of them has been handled."""

    BATCH_SECONDS = "hifi_spark_batch_seconds"
    """Gauge by `query`: how long the last batch took; a real-time query's are as long as its setting says."""

    PROGRESS_AGE = "hifi_spark_progress_age_seconds"
    """Gauge by `query`: since the end of the last batch, or the start if none has ended; it grows while a
    query has nothing to read, too."""

    EXECUTORS = "hifi_spark_executors"
    """Gauge: executors that take the driver's tasks; 0 if the driver runs all of them itself."""

    HEAP_BYTES = "hifi_spark_heap_bytes"
    """Gauge: heap in use in the driver's JVM."""

    GC_SECONDS = "hifi_spark_gc_seconds"
    """Counter: time the driver's JVM spent in garbage collections."""

    CPU_SECONDS = "hifi_spark_process_cpu_seconds"
    """Counter by `part` (driver, jvm or workers): CPU time; the workers are Python's, ended ones included."""

    MEMORY_BYTES = "hifi_spark_process_memory_bytes"
    """Gauge by `part` (driver, jvm or workers): resident memory."""

    READY = "hifi_spark_ready"
    """Gauge: 1 when /readyz answers 200."""


class ProcessMetric(StrEnum):
    """Metrics that every process exposes. All but the last are of prometheus_client's ProcessCollector."""

    CPU_SECONDS = "process_cpu_seconds"
    """Counter: CPU time of this process without its children."""

    MEMORY_BYTES = "process_resident_memory_bytes"
    """Gauge: resident memory of this process without its children."""

    STARTED = "process_start_time_seconds"
    """Gauge: when it started, seconds since 1970; a change is a restart."""

    BUILD = "hifi_build_info"
    """Gauge, always 1, by `process` and `version`."""


class CanaryMetric(StrEnum):
    """Metrics of the canary, at /metrics."""

    SENT = "hifi_canary_sent_events"
    """Counter: events sent to collect, with any result."""

    ACKNOWLEDGED = "hifi_canary_acknowledged_events"
    """Counter: those that collect answered with a 2xx."""

    ARRIVED = "hifi_canary_arrived_events"
    """Counter by `pipe`: events that reached the canary's own destination, each once."""

    DOUBLED = "hifi_canary_doubled_events"
    """Counter by `pipe`: events that arrived more often than once."""

    MISSING = "hifi_canary_missing_events"
    """Gauge by `pipe`: events that were acknowledged a while ago and have not arrived."""

    WRONG = "hifi_canary_wrong_events"
    """Counter by `pipe`: events that differ from what the pipe's masks and transform should produce."""

    P95 = "hifi_canary_p95_milliseconds"
    """Gauge: from an event's time until it arrived, over what arrived within the last minute; NaN if nothing
    did."""

    LAG_SECONDS = "hifi_canary_lag_seconds"
    """Histogram by `pipe`: from an event's time until it arrived."""

    READY = "hifi_canary_ready"
    """Gauge: 1 when /readyz answers 200."""


class ConsoleMetric(StrEnum):
    """Metrics of the console, at /metrics."""

    PAGES = "hifi_console_open_pages"
    """Gauge: open pages; without one the console does not poll observe."""

    READY = "hifi_console_ready"
    """Gauge: 1 when /readyz answers 200."""


class ApiMetric(StrEnum):
    """Metrics of the management API, at /metrics."""

    REQUESTS = "hifi_api_requests"
    """Counter by `method` and `status`: requests answered."""

    TAILS = "hifi_api_open_tails"
    """Gauge: live tails that are open."""

    READY = "hifi_api_ready"
    """Gauge: 1 when the table answered the last time that /readyz asked it."""


class ProvisionMetric(StrEnum):
    """Metrics of provision, at /metrics."""

    PUBLISHED = "hifi_provision_published_records"
    """Counter: records written to `config`, deletions included."""

    CATALOGUE_VERSION = "hifi_provision_catalogue_version"
    """Gauge: versions of documents that the table held at the last look."""

    WAITING = "hifi_provision_waiting_sources"
    """Gauge: new sources that wait until their tenant's pipes are in force."""

    INSTANCES = "hifi_provision_node_processes"
    """Gauge: processes that say which configuration they use, by `node`."""

    LEADER = "hifi_provision_leader"
    """Gauge: 1 when this process is the one that publishes."""

    READY = "hifi_provision_ready"
    """Gauge: 1 when /readyz answers 200."""


class DeployMetric(StrEnum):
    """Metrics of deploy, at /metrics."""

    STEP = "hifi_deploy_step"
    """Gauge by `step`: 1 for what the newest release does now, or how it ended."""

    STEP_SECONDS = "hifi_deploy_step_seconds"
    """Gauge by `step`: how long the release under way has been in it; 0 for all others, and without one."""

    WAITS = "hifi_deploy_waiting_reasons"
    """Gauge: reasons for which the release may not go on now."""

    NUMBER = "hifi_deploy_release_number"
    """Gauge: number of the newest release."""

    LEADER = "hifi_deploy_leader"
    """Gauge: 1 when this process is the one that deploys."""

    READY = "hifi_deploy_ready"
    """Gauge: 1 when /readyz answers 200."""


class TraceMetric(StrEnum):
    """Metrics of trace, at /metrics."""

    EXPORTED = "hifi_trace_exported_spans"
    """Counter: spans that the receiver acknowledged."""

    REFUSED = "hifi_trace_refused_portions"
    """Counter: batches of spans that were not acknowledged; they are sent again."""

    DROPPED = "hifi_trace_dropped_spans"
    """Counter: spans that the receiver refused for good (400, 413, 422); they are not sent again."""

    UNREADABLE = "hifi_trace_unreadable_records"
    """Counter: records of `traces` that cannot be decoded and are skipped."""

    READY = "hifi_trace_ready"
    """Gauge: 1 when /readyz answers 200."""
