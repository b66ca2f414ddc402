"""The proof of a side by its own canary, which sends through every kind of pipe and compares bytes. Pure."""

from collections import defaultdict
from collections.abc import Mapping
from typing import Final

from prometheus_client.parser import text_string_to_metric_families

from pipelines.control.deploy.backend import Proof
from shared.runtime.metrics import CanaryMetric

_TOTAL: Final = "_total"


def _values_by_pipe(metrics: str) -> Mapping[str, Mapping[str, float]]:
    """Values by metric and pipe, of what a canary's /metrics answers; without a pipe, by an empty name."""
    found: dict[str, dict[str, float]] = defaultdict(dict)
    for family in text_string_to_metric_families(metrics):
        for sample in family.samples:
            found[sample.name][sample.labels.get("pipe", "")] = sample.value
    return found


def changed_events(metrics: str) -> float:
    """How many of the canary's events have arrived changed since it began, each counted at every pipe."""
    return sum(_values_by_pipe(metrics)[CanaryMetric.WRONG + _TOTAL].values())


def proof(metrics: str) -> Proof:
    """The outcome of the canary's events since it began.

    Of each pipe the fewest arrived: an event proves a side once it came through every pipe. An event that is
    missing at several pipes counts at each.
    """
    found = _values_by_pipe(metrics)
    arrived = found[CanaryMetric.ARRIVED + _TOTAL]
    changed, doubled = found[CanaryMetric.WRONG + _TOTAL], found[CanaryMetric.DOUBLED + _TOTAL]
    missing = found[CanaryMetric.MISSING]
    words = {"arrived changed": changed, "arrived more than once": doubled, "have not arrived": missing}
    return Proof(
        sent=int(found[CanaryMetric.ACKNOWLEDGED + _TOTAL].get("", 0)),
        arrived=int(min(arrived.values(), default=0)),
        changed=int(sum(changed.values())),
        doubled=int(sum(doubled.values())),
        missing=int(sum(missing.values())),
        examples=tuple(
            f"{pipe}: {count:.0f} events {what}"
            for what, counts in words.items()
            for pipe, count in counts.items()
            if count
        ),
    )
