"""PromQL expressions from typed metric names, so that no chart asks for a metric that does not exist."""

from enum import StrEnum
from typing import Final

RATE_WINDOW: Final = "$__rate_interval"
"""Grafana's own: at least four scrapes."""


def series(metric: StrEnum, **labels: str) -> str:
    """A gauge. A label's value may be a variable, `$tenant`, or a regular expression after `~`."""
    return f"{metric}{_selector(labels)}"


def rate(metric: StrEnum, **labels: str) -> str:
    """A counter's growth per second."""
    return f"rate({metric}_total{_selector(labels)}[{RATE_WINDOW}])"


def growth(metric: StrEnum, window: str, **labels: str) -> str:
    """A counter's growth over a window such as `1h`."""
    return f"increase({metric}_total{_selector(labels)}[{window}])"


def percentile(metric: StrEnum, share: float, by: str = "") -> str:
    """A percentile of a histogram over all processes, by a label if one is given."""
    labels = f"le, {by}" if by else "le"
    return f"histogram_quantile({share}, sum by ({labels}) (rate({metric}_bucket[{RATE_WINDOW}])))"


def total(expression: str, *by: str) -> str:
    """The sum, by labels if some are given."""
    return f"sum by ({', '.join(by)}) ({expression})" if by else f"sum({expression})"


def _selector(labels: dict[str, str]) -> str:
    return "{" + ", ".join(_matcher(name, value) for name, value in labels.items()) + "}" if labels else ""


def _matcher(label: str, value: str) -> str:
    return f'{label}=~"{value[1:]}"' if value.startswith("~") else f'{label}="{value}"'
