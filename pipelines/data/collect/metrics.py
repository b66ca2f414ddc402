"""collect's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py."""

from prometheus_client import Counter, Gauge, Histogram

from shared.runtime.metrics import CollectMetric
from shared.runtime.process_metrics import process_registry

_SECONDS = (0.002, 0.005, 0.01, 0.02, 0.05, 0.1, 0.2, 0.5, 1.0, 2.0, 5.0, 10.0)


class CollectMetrics:
    """collect's metrics and their registry."""

    def __init__(self) -> None:
        self.registry = into = process_registry("collect")
        self.requests = Counter(CollectMetric.REQUESTS, "Requests answered", ["status"], registry=into)
        self.events = Counter(CollectMetric.EVENTS, "Events acknowledged", registry=into)
        self.refused = Counter(CollectMetric.REFUSED, "Events refused", ["field"], registry=into)
        self.late = Counter(CollectMetric.LATE, "Events outside their minute's window", registry=into)
        self.body_bytes = Counter(CollectMetric.BODY_BYTES, "Decoded body bytes", registry=into)
        self.abandoned = Counter(
            CollectMetric.ABANDONED, "Clients that disconnected before their last byte", registry=into
        )
        self.in_flight = Gauge(CollectMetric.IN_FLIGHT, "Requests being handled", registry=into)
        self.held_bytes = Gauge(
            CollectMetric.HELD_BYTES, "Bytes that request bodies and decompressors hold", registry=into
        )
        self.ready = Gauge(CollectMetric.READY, "1 when ready", registry=into)
        self.request_seconds = Histogram(
            CollectMetric.REQUEST_SECONDS,
            "Seconds from a request's head to the response",
            buckets=_SECONDS,
            registry=into,
        )
        self.ack_seconds = Histogram(
            CollectMetric.ACK_SECONDS,
            "Seconds until Kafka acknowledged a request's events",
            buckets=_SECONDS,
            registry=into,
        )
