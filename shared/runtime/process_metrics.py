"""The metrics registry of a process, with its CPU time, memory, start time and version."""

from importlib.metadata import PackageNotFoundError, version
from typing import Final

from prometheus_client import CollectorRegistry, Gauge, ProcessCollector

from shared.runtime.metrics import ProcessMetric
from shared.runtime.settings import BuildSettings

_PACKAGE: Final = "hifi"


def process_registry(process: str) -> CollectorRegistry:
    """A registry with this process's CPU time, memory, start time and version, labelled `process`."""
    registry = CollectorRegistry()
    ProcessCollector(registry=registry)
    build = Gauge(ProcessMetric.BUILD, "What runs", ["process", "version"], registry=registry)
    build.labels(process, build_version()).set(1)
    return registry


def build_version() -> str:
    """The version of hifi that runs."""
    return BuildSettings().version or _package_version()


def _package_version() -> str:
    try:
        return version(_PACKAGE)
    except PackageNotFoundError:  # an image holds the code without its package
        return "unknown"
