"""The provisioner's Prometheus metrics; their names are in shared/runtime/metrics.py."""

from collections.abc import Callable, Mapping
from functools import partial

from prometheus_client import Counter, Gauge

from shared.contracts.heartbeats import NODES
from shared.runtime.metrics import ProvisionMetric
from shared.runtime.process_metrics import process_registry


class ProvisionMetrics:
    """The provisioner's metrics, in their own registry."""

    def __init__(self) -> None:
        self.registry = into = process_registry("provision")
        self._published = Counter(ProvisionMetric.PUBLISHED, "Records written to config", registry=into)
        self._version = Gauge(ProvisionMetric.CATALOGUE_VERSION, "Versions in the table", registry=into)
        self._waiting = Gauge(ProvisionMetric.WAITING, "New sources that are not opened", registry=into)
        self._instances = Gauge(
            ProvisionMetric.INSTANCES, "Processes that send heartbeats", ["node"], registry=into
        )
        self.leader = Gauge(ProvisionMetric.LEADER, "1 when this process leads", registry=into)
        self.ready = Gauge(ProvisionMetric.READY, "1 when ready", registry=into)

    def watch(self, instances: Callable[[], Mapping[str, int]]) -> None:
        """Show how many processes of each node are alive, asked at each scrape."""
        for node in NODES:
            self._instances.labels(node).set_function(partial(_count, instances, node))

    def published(self, records: int) -> None:
        """Records that the brokers have."""
        self._published.inc(records)

    def looked(self, version: int, waiting: int) -> None:
        """The result of a look."""
        self._version.set(version)
        self._waiting.set(waiting)


def _count(instances: Callable[[], Mapping[str, int]], node: str) -> float:
    return instances().get(node, 0)
