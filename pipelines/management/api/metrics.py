"""The API's metrics, in their own registry. No label holds a tenant's name."""

from prometheus_client import Counter, Gauge

from shared.runtime.metrics import ApiMetric
from shared.runtime.process_metrics import process_registry


class ApiMetrics:
    """One process's."""

    def __init__(self) -> None:
        self.registry = into = process_registry("api")
        self.requests = Counter(ApiMetric.REQUESTS, "Requests", ["method", "status"], registry=into)
        self.ready = Gauge(ApiMetric.READY, "1 when ready", registry=into)
