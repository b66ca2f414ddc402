"""The canary's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py."""

from collections.abc import Iterable
from functools import partial
from typing import Final

from prometheus_client import Counter, Gauge, Histogram

from pipelines.control.canary.delivery_tracker import Arrival, DeliveryTracker
from shared.runtime.clock import Clock
from shared.runtime.metrics import CanaryMetric
from shared.runtime.process_metrics import process_registry

_SECONDS: Final = (0.1, 0.2, 0.3, 0.5, 0.75, 1.0, 2.0, 5.0, 10.0, 30.0, 60.0)


class CanaryMetrics:
    """The canary's metrics, in their own registry."""

    def __init__(self, tracker: DeliveryTracker, pipes: Iterable[str], clock: Clock) -> None:
        self.registry = into = process_registry("canary")
        self.sent = Counter(CanaryMetric.SENT, "Events sent", registry=into)
        self.acknowledged = Counter(CanaryMetric.ACKNOWLEDGED, "Events collect took", registry=into)
        self.arrived = Counter(CanaryMetric.ARRIVED, "Events that arrived", ["pipe"], registry=into)
        self.doubled = Counter(CanaryMetric.DOUBLED, "Arrivals beyond the first", ["pipe"], registry=into)
        self.wrong = Counter(CanaryMetric.WRONG, "Events that arrived changed", ["pipe"], registry=into)
        self.lag_seconds = Histogram(
            CanaryMetric.LAG_SECONDS, "From sent to arrived", ["pipe"], buckets=_SECONDS, registry=into
        )
        missing = Gauge(CanaryMetric.MISSING, "Acknowledged, not arrived", ["pipe"], registry=into)
        for pipe in pipes:
            for each in (self.arrived, self.doubled, self.wrong, self.lag_seconds):
                each.labels(pipe)
            missing.labels(pipe).set_function(partial(_missing, tracker, pipe, clock))
        p95 = Gauge(CanaryMetric.P95, "p95 of the last minute; NaN if nothing arrived", registry=into)
        p95.set_function(lambda: _or_nan(tracker.p95(clock())))
        self.ready = Gauge(CanaryMetric.READY, "1 when ready", registry=into)

    def count(self, pipe: str, arrival: Arrival, lag_ms: int, *, right: bool) -> None:
        """Count an arrival through a pipe, `lag_ms` after the event was sent."""
        if arrival is Arrival.FIRST:
            self.arrived.labels(pipe).inc()
            self.lag_seconds.labels(pipe).observe(max(0, lag_ms) / 1000)
        if arrival is Arrival.AGAIN:
            self.doubled.labels(pipe).inc()
        if arrival is not Arrival.STRANGE and not right:
            self.wrong.labels(pipe).inc()


def _missing(tracker: DeliveryTracker, pipe: str, clock: Clock) -> float:
    return tracker.missing(clock())[pipe]


def _or_nan(value: int | None) -> float:
    return float("nan") if value is None else value
