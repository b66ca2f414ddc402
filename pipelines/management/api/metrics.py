"""The API's metrics, in their own registry. No label holds a tenant's name."""

from prometheus_client import Counter, Gauge

from pipelines.management.api.tail_feed import TailFeed
from shared.runtime.metrics import ApiMetric
from shared.runtime.process_metrics import process_registry


class ApiMetrics:
    """One process's."""

    def __init__(self, tails: TailFeed) -> None:
        self.registry = into = process_registry("api")
        self.requests = Counter(ApiMetric.REQUESTS, "Requests", ["method", "status"], registry=into)
        Gauge(ApiMetric.TAILS, "Live tails that are open", registry=into).set_function(lambda: len(tails))
        self.ready = Gauge(ApiMetric.READY, "1 when ready", registry=into)
