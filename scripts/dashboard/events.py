"""Rows about events: whether they arrived, how late, and where they are."""

from typing import Final

from scripts.dashboard.grafana import Kind, Panel, Query, Row, Step, Unit
from scripts.dashboard.promql import growth, percentile, rate, series, total
from shared.runtime.metrics import CanaryMetric, CollectMetric, ObserveMetric

_QUANTILES: Final = (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99"))
_MINE: Final = {"tenant": "$tenant"}
_WINDOW: Final = "5m"


def events_rows() -> tuple[Row, ...]:
    """Their rows, in the dashboard's order."""
    return _promise(), _nodes(), _deliveries(), _canary()


def _promise() -> Row:
    return Row(
        title="What was promised",
        panels=(
            Panel(
                title="Events in",
                text="As the meter counted them, and as collect acknowledged them for all tenants.",
                unit=Unit.EVENTS_PER_SECOND,
                queries=(
                    Query(series(ObserveMetric.EVENTS_PER_SECOND, **_MINE), "counted"),
                    Query(total(rate(CollectMetric.EVENTS)), "acknowledged, all tenants"),
                ),
            ),
            Panel(
                title="End to end",
                text="From the time that names an event's minute to leaving hifi.",
                unit=Unit.MILLISECONDS,
                queries=_quantiles(ObserveMetric.END_TO_END),
            ),
            Panel(
                title="Inside hifi",
                text="From entering hifi to leaving it.",
                unit=Unit.MILLISECONDS,
                queries=_quantiles(ObserveMetric.INSIDE),
            ),
            Panel(
                title="Lost, by hop",
                text="Proven lost over five minutes. The console names them.",
                unit=Unit.EVENTS,
                queries=(Query(growth(ObserveMetric.LOST, _WINDOW, **_MINE), "{{node}}"),),
                stacked=True,
            ),
            Panel(
                title="Doubled, by hop",
                text="Written more often than taken, over five minutes.",
                unit=Unit.EVENTS,
                queries=(Query(growth(ObserveMetric.DOUBLED, _WINDOW, **_MINE), "{{node}}"),),
                stacked=True,
            ),
            Panel(
                title="Good deliveries",
                text="Of those owed, of the last judged minute.",
                unit=Unit.SHARE,
                queries=(Query(series(ObserveMetric.SLI, **_MINE), "SLI"),),
                decimals=4,
            ),
        ),
    )


def _nodes() -> Row:
    process = Query(series(ObserveMetric.PROCESS), "{{node}}")
    return Row(
        title="Nodes",
        panels=(
            Panel(
                title="Time in each node, now",
                text="What each adds: lag-out p95 minus lag-in p95.",
                unit=Unit.MILLISECONDS,
                queries=(process,),
                kind=Kind.PIE,
            ),
            Panel(
                title="Time in each node",
                text="The same over time, stacked: its height is about the p95 end to end.",
                unit=Unit.MILLISECONDS,
                queries=(process,),
                stacked=True,
                width=16,
            ),
            _lags("in", "How late events were when a node could first read them."),
            _lags("out", "How late what a node made of them was written, or arrived."),
        ),
    )


def _lags(edge: str, text: str) -> Panel:
    queries = tuple(
        Query(series(ObserveMetric.LAG, **_MINE, edge=edge, quantile=quantile), "{{node}} " + name)
        for quantile, name in _QUANTILES
    )
    return Panel(title=f"Lag-{edge}", text=text, unit=Unit.MILLISECONDS, queries=queries, width=12)


def _deliveries() -> Row:
    return Row(
        title="Destinations and alarms",
        panels=(
            Panel(
                title="Delivered",
                text="By destination.",
                unit=Unit.EVENTS_PER_SECOND,
                queries=(Query(total(rate(ObserveMetric.DELIVERED), "destination"), "{{destination}}"),),
            ),
            Panel(
                title="Failed tries",
                text="That ended in a retry or a dead letter, by destination.",
                unit=Unit.EVENTS_PER_SECOND,
                queries=(Query(total(rate(ObserveMetric.FAILED), "destination"), "{{destination}}"),),
            ),
            Panel(
                title="Waiting for their next try",
                text="By pipe.",
                unit=Unit.EVENTS,
                queries=(Query(series(ObserveMetric.WAITING), "{{pipe}}"),),
                stacked=True,
            ),
            Panel(
                title="Open alarms",
                text="By kind. The console tells what they say.",
                unit=Unit.ALARMS,
                queries=(Query(series(ObserveMetric.OPEN_ALARMS), "{{kind}}"),),
                stacked=True,
            ),
            Panel(
                title="Meter behind",
                text="How far audit and observe are behind the topics.",
                unit=Unit.SECONDS,
                queries=(Query(series(ObserveMetric.BEHIND_SECONDS), "behind"),),
                steps=(Step(value=60, colour="orange"),),
            ),
            Panel(
                title="Minutes not judged yet",
                text="Of all tenants. It rises while something does not settle.",
                unit=Unit.MINUTES,
                queries=(Query(series(ObserveMetric.MINUTES_OPEN), "open"),),
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
        title="Canary",
        panels=(
            Panel(
                title="Canary's events",
                text="A few a second, sent and received by hifi itself through every kind of pipe.",
                unit=Unit.EVENTS_PER_SECOND,
                queries=tuple(Query(total(rate(metric)), name) for metric, name in counters),
            ),
            Panel(
                title="Canary's missing events",
                text="Acknowledged a while ago and not arrived, by pipe.",
                unit=Unit.EVENTS,
                queries=(Query(series(CanaryMetric.MISSING), "{{pipe}}"),),
                stacked=True,
                steps=(Step(value=1, colour="red"),),
            ),
            Panel(
                title="Canary's p95",
                text="From an event's time until it arrived, by pipe.",
                unit=Unit.SECONDS,
                queries=(Query(percentile(CanaryMetric.LAG_SECONDS, 0.95, "pipe"), "{{pipe}}"),),
            ),
        ),
    )


def _quantiles(metric: ObserveMetric) -> tuple[Query, ...]:
    return tuple(Query(series(metric, **_MINE, quantile=at), name) for at, name in _QUANTILES)
