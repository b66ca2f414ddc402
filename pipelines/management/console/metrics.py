"""The console's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py."""

from prometheus_client import Gauge

from pipelines.management.console.poller import Pollers
from shared.runtime.metrics import ConsoleMetric
from shared.runtime.process_metrics import process_registry


class ConsoleMetrics:
    """What is counted, in a registry of its own."""

    def __init__(self, feeds: Pollers) -> None:
        self.registry = into = process_registry("console")
        pages = Gauge(ConsoleMetric.PAGES, "Pages that are open", registry=into)
        pages.set_function(lambda: feeds.watchers)
        Gauge(ConsoleMetric.READY, "1 when ready", registry=into).set(1)
