"""The registry every process begins with: what it costs, since when it runs, and which build it is."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

from shared.runtime.metrics import ProcessMetric

_PACKAGE: Final = "hifi"


def process_registry(process: str) -> CollectorRegistry:
    """A registry that tells this process's CPU time, memory, start and build; `process` names it in logs."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    build = Gauge(ProcessMetric.BUILD, "What runs", ["process", "version"], registry=registry)
    build.labels(process, _version()).set(1)
    return registry


def _version() -> str:
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:  # an image holds the code without its package
        return "unknown"
