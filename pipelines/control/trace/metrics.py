"""trace's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py."""

from prometheus_client import Counter, Gauge

from shared.runtime.metrics import TraceMetric
from shared.runtime.process_metrics import process_registry


class TraceMetrics:
    """trace's metrics, in their own registry."""

    def __init__(self) -> None:
        self.registry = into = process_registry("trace")
        self.exported = Counter(TraceMetric.EXPORTED, "Spans the receiver acknowledged", registry=into)
        self.refused = Counter(TraceMetric.REFUSED, "Portions that go again", registry=into)
        self.dropped = Counter(TraceMetric.DROPPED, "Spans the receiver refused for good", registry=into)
        self.unreadable = Counter(TraceMetric.UNREADABLE, "Records that cannot be decoded", registry=into)
        self.ready = Gauge(TraceMetric.READY, "1 when ready", registry=into)
