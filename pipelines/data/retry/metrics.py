"""retry's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py."""

from collections.abc import Sequence

from prometheus_client import Counter, Gauge, Histogram

from pipelines.data.retry.decide import DelayedRecord
from shared.contracts.topics import Topic
from shared.runtime.metrics import RetryMetric
from shared.runtime.process_metrics import process_registry

_SECONDS = (0.1, 0.5, 1.0, 2.0, 5.0, 15.0, 60.0, 150.0, 600.0, 1800.0)


class RetryMetrics:
    """retry's metrics and their registry."""

    def __init__(self) -> None:
        self.registry = into = process_registry("retry")
        self.released = Counter(RetryMetric.RELEASED, "Records sent on", ["topic"], registry=into)
        self.quarantined = Counter(RetryMetric.QUARANTINED, "Unreadable records", registry=into)
        self.late_seconds = Histogram(
            RetryMetric.LATE_SECONDS, "From due to written", ["topic"], buckets=_SECONDS, registry=into
        )
        self.ready = Gauge(RetryMetric.READY, "1 when ready", registry=into)

    def count(self, topic: str, run: Sequence[DelayedRecord], now_ms: int) -> None:
        """Count records of a retry topic; their write began at `now_ms`, epoch milliseconds."""
        late = self.late_seconds.labels(topic)
        released = [record for record in run if record.output.topic == Topic.RETRY_OUT]
        for record in released:
            late.observe(max(0, now_ms - record.due_ms) / 1000)
        self.released.labels(topic).inc(len(released))
        self.quarantined.inc(len(run) - len(released))
