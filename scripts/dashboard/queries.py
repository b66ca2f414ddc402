"""The queries of a panel that shows one metric."""

from enum import StrEnum

from scripts.dashboard.grafana import Query
from scripts.dashboard.promql import percentile, rate, series, total


def gauge(metric: StrEnum, legend: str, **labels: str) -> tuple[Query]:
    """A gauge, filtered by labels."""
    return (Query(series(metric, **labels), legend),)


def rate_by(metric: StrEnum, *labels: str) -> tuple[Query]:
    """A counter's growth per second, a line for each combination of labels' values."""
    return (Query(total(rate(metric), *labels), "/".join(f"{{{{{label}}}}}" for label in labels)),)


def p95_by(metric: StrEnum, label: str) -> tuple[Query]:
    """The 95th percentile of a histogram, a line for each value of a label."""
    return (Query(percentile(metric, 0.95, label), f"{{{{{label}}}}}"),)
