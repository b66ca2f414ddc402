"""The dashboard's rows about events: arrivals, lags, losses and deliveries."""

from typing import Final

from scripts.dashboard.grafana import Kind, Panel, Query, Row, Threshold, Unit
from scripts.dashboard.promql import growth, rate, series, total
from scripts.dashboard.queries import gauge, p95_by, rate_by
from shared.runtime.metrics import CanaryMetric, CollectMetric, ObserveMetric

_QUANTILES: Final = (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99"))
_MINE: Final = {"tenant": "$tenant"}
_WINDOW: Final = "5m"


def events_rows() -> tuple[Row, ...]:
    """These rows, in the dashboard's order."""
    return _promise(), _nodes(), _deliveries(), _canary()


def _promise() -> Row:
    return Row(
        "Promises",
        (
            Panel(
                "Events in",
                "Counted by the meter; acknowledged by collect, for all tenants.",
                Unit.EVENTS_PER_SECOND,
                (
                    Query(series(ObserveMetric.EVENTS_PER_SECOND, **_MINE), "counted"),
                    Query(total(rate(CollectMetric.EVENTS)), "acknowledged, all tenants"),
                ),
            ),
            Panel(
                "End to end",
                "From the time that sets an event's minute until it leaves hifi.",
                Unit.MILLISECONDS,
                _quantiles(ObserveMetric.END_TO_END),
            ),
            Panel(
                "Inside hifi",
                "From entering hifi until leaving it.",
                Unit.MILLISECONDS,
                _quantiles(ObserveMetric.INSIDE),
            ),
            Panel(
                "Lost, by hop",
                "Proven lost over five minutes. The console names them.",
                Unit.EVENTS,
                (Query(growth(ObserveMetric.LOST, _WINDOW, **_MINE), "{{node}}"),),
                stacked=True,
            ),
            Panel(
                "Doubled, by hop",
                "Written more often than taken, over five minutes.",
                Unit.EVENTS,
                (Query(growth(ObserveMetric.DOUBLED, _WINDOW, **_MINE), "{{node}}"),),
                stacked=True,
            ),
            Panel(
                "Good deliveries",
                "Share of those owed in the last judged minute.",
                Unit.SHARE,
                gauge(ObserveMetric.SLI, "SLI", **_MINE),
                decimals=4,
            ),
        ),
    )


def _nodes() -> Row:
    process = Query(series(ObserveMetric.PROCESS), "{{node}}")
    return Row(
        "Nodes",
        (
            Panel(
                "Time in each node, now",
                "The time each node adds: p95 of lag-out minus p95 of lag-in.",
                Unit.MILLISECONDS,
                (process,),
                kind=Kind.PIE,
            ),
            Panel(
                "Time in each node",
                "The same over time, stacked; the total is about the p95 end to end.",
                Unit.MILLISECONDS,
                (process,),
                stacked=True,
                width=16,
            ),
            _lags("in", "How late events were when a node could first read them."),
            _lags("out", "How late a node's output was written, or reached its destination."),
        ),
    )


def _lags(edge: str, text: str) -> Panel:
    queries = tuple(
        Query(series(ObserveMetric.LAG, **_MINE, edge=edge, quantile=quantile), "{{node}} " + name)
        for quantile, name in _QUANTILES
    )
    return Panel(f"Lag-{edge}", text, Unit.MILLISECONDS, queries, width=12)


def _deliveries() -> Row:
    return Row(
        "Destinations and alarms",
        (
            Panel(
                "Delivered",
                "By tenant and destination.",
                Unit.EVENTS_PER_SECOND,
                rate_by(ObserveMetric.DELIVERED, "tenant", "destination"),
            ),
            Panel(
                "Failed tries",
                "Tries that ended in a retry or a dead letter, by tenant and destination.",
                Unit.EVENTS_PER_SECOND,
                rate_by(ObserveMetric.FAILED, "tenant", "destination"),
            ),
            Panel(
                "Watched fields",
                "Events of which a field was counted, once for each field, by tenant.",
                Unit.EVENTS_PER_SECOND,
                rate_by(ObserveMetric.WATCHED, "tenant"),
            ),
            Panel(
                "Waiting for the next attempt",
                "By tenant and pipe.",
                Unit.EVENTS,
                gauge(ObserveMetric.WAITING, "{{tenant}}/{{pipe}}"),
                stacked=True,
            ),
            Panel(
                "Unread",
                "Records before each node. A dark side may be parked when all are 0.",
                Unit.RECORDS,
                gauge(ObserveMetric.UNREAD, "{{node}}"),
                stacked=True,
            ),
            Panel(
                "Open alarms",
                "By kind. The console shows their text.",
                Unit.ALARMS,
                gauge(ObserveMetric.OPEN_ALARMS, "{{kind}}"),
                stacked=True,
            ),
            Panel(
                "Meter behind",
                "How far audit and observe are behind the topics.",
                Unit.SECONDS,
                gauge(ObserveMetric.BEHIND_SECONDS, "behind"),
                thresholds=(Threshold(value=60, colour="orange"),),
            ),
            Panel(
                "Minutes not judged yet",
                "Over all tenants. Rises while some minute does not settle.",
                Unit.MINUTES,
                gauge(ObserveMetric.MINUTES_OPEN, "open"),
            ),
        ),
    )


def _canary() -> Row:
    counters = (
        (CanaryMetric.SENT, "sent"),
        (CanaryMetric.ACKNOWLEDGED, "acknowledged"),
        (CanaryMetric.ARRIVED, "arrived"),
        (CanaryMetric.DOUBLED, "doubled"),
        (CanaryMetric.WRONG, "changed on the way"),
    )
    return Row(
        "Canary",
        (
            Panel(
                "Canary's events",
                "A few a second, sent and received by hifi itself through every kind of pipe.",
                Unit.EVENTS_PER_SECOND,
                tuple(Query(total(rate(metric)), name) for metric, name in counters),
            ),
            Panel(
                "Canary's missing events",
                "Acknowledged some time ago and not arrived, by pipe.",
                Unit.EVENTS,
                gauge(CanaryMetric.MISSING, "{{pipe}}"),
                stacked=True,
                thresholds=(Threshold(value=1, colour="red"),),
            ),
            Panel(
                "Canary's p95",
                "From an event's time until it arrived, by pipe.",
                Unit.SECONDS,
                p95_by(CanaryMetric.LAG_SECONDS, "pipe"),
            ),
        ),
    )


def _quantiles(metric: ObserveMetric) -> tuple[Query, ...]:
    return tuple(Query(series(metric, **_MINE, quantile=at), name) for at, name in _QUANTILES)
