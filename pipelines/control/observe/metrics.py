"""observe's Prometheus metrics, as one object; their names are in shared/runtime/metrics.py.

Gauges are computed from the last snapshot at each scrape, so that a removed pipe leaves no series behind.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Mapping
from typing import Final

from prometheus_client import Counter, Gauge
from prometheus_client.core import GaugeMetricFamily
from prometheus_client.registry import Collector

from pipelines.control.observe.health.snapshot import Snapshot
from pipelines.control.observe.scorecards.day_state import CardChange
from shared.contracts.alarms import AlarmKind
from shared.contracts.documents import TenantName
from shared.contracts.ledger import Range, Stage
from shared.contracts.scorecard import ALL_TENANTS, HopRow, MinuteCard, Percentiles
from shared.runtime.metrics import ObserveMetric
from shared.runtime.process_metrics import process_registry

_QUANTILES: Final = (("0.5", "p50"), ("0.95", "p95"), ("0.99", "p99"))
_MINUTE_SECONDS: Final = 60
DELETED_MS: Final = 3_600_000
"""How long the series of a deleted destination stay after the last count."""


class ObserveMetrics:
    """observe's metrics, in their own registry."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], open_alarms: Callable[[], Mapping[AlarmKind, int]]
    ) -> None:
        self.registry = into = process_registry("observe")
        into.register(_Gauges(snapshot, open_alarms))
        by_node, by_destination = ["tenant", "node"], ["tenant", "destination"]
        self._lost = Counter(ObserveMetric.LOST, "Events proven lost at a node", by_node, registry=into)
        self._doubled = Counter(
            ObserveMetric.DOUBLED,
            "Copies of events that a node wrote beyond what it owed",
            by_node,
            registry=into,
        )
        self._delivered = Counter(
            ObserveMetric.DELIVERED, "Events that the destination accepted", by_destination, registry=into
        )
        self._failed = Counter(
            ObserveMetric.FAILED,
            "Events whose attempt failed, retried or given up",
            by_destination,
            registry=into,
        )
        self._by_destination: Mapping[Stage, Counter] = {
            Stage.DELIVERED: self._delivered,
            Stage.RETRYING: self._failed,
            Stage.DEAD: self._failed,
        }
        self._watched = Counter(
            ObserveMetric.WATCHED, "Values of watched fields that were counted", ["tenant"], registry=into
        )
        self._counted_ms: dict[TenantName, int] = {}
        """When something was last counted of a destination, epoch milliseconds."""

        self.ready = Gauge(ObserveMetric.READY, "1 when ready", registry=into)

    def count_range(self, found: Range, now_ms: int) -> None:
        """Count the events of a ledger range that is new."""
        for tally in found.tallies:
            counter = self._by_destination.get(tally.stage)
            if counter is not None:
                counter.labels(tally.tenant, tally.destination).inc(tally.count)
                self._counted_ms[tally.tenant, tally.destination] = now_ms
            for counts in tally.watched.values():
                self._watched.labels(tally.tenant).inc(counts.events)

    def forget_deleted(self, destinations: Container[TenantName], now_ms: int) -> None:
        """Drop the series of destinations that are not among these, once they were scraped for a while."""
        kept_ms = {
            key: at_ms
            for key, at_ms in self._counted_ms.items()
            if key in destinations or now_ms - at_ms < DELETED_MS
        }
        for tenant, destination in self._counted_ms.keys() - kept_ms.keys():
            self._delivered.remove(tenant, destination)
            self._failed.remove(tenant, destination)
        self._counted_ms = kept_ms

    def count_changes(self, changes: Iterable[CardChange]) -> None:
        """Count losses and doubles of changed cards. A loss that is corrected later stays counted."""
        for before, after in changes:
            for row in after.hops:
                old = _row(before, row)
                labels = (after.tenant, row.node)
                self._lost.labels(*labels).inc(max(0, row.lost - old[0]))
                self._doubled.labels(*labels).inc(max(0, row.doubled - old[1]))


def _row(card: MinuteCard | None, row: HopRow) -> tuple[int, int]:
    """Lost and doubled events of the same hop in an earlier card, 0 if there was none."""
    hop = (row.node, row.tenant, row.pipe)
    rows = card.hops if card else []
    return next(
        ((each.lost, each.doubled) for each in rows if (each.node, each.tenant, each.pipe) == hop), (0, 0)
    )


class _Gauges(Collector):
    """Gauges that are computed at each scrape."""

    def __init__(
        self, snapshot: Callable[[], Snapshot], open_alarms: Callable[[], Mapping[AlarmKind, int]]
    ) -> None:
        self._snapshot = snapshot
        self._open_alarms = open_alarms

    def collect(self) -> Iterator[GaugeMetricFamily]:
        """Called by prometheus_client."""
        found = self._snapshot()
        tenants = [*found.tenants, ALL_TENANTS] if found.at_ms else []  # before, 0 would say that none came
        yield from _of_the_side(found)
        yield from _of_the_minute(found, tenants)
        yield from _of_the_day(found, tenants)
        yield from _of_nodes(found, tenants)
        alarms = GaugeMetricFamily(ObserveMetric.OPEN_ALARMS, "Not resolved", labels=["kind"])
        for kind, count in self._open_alarms().items():
            alarms.add_metric([kind], count)
        yield alarms

    def describe(self) -> Iterator[GaugeMetricFamily]:
        """Nothing; otherwise prometheus_client would call `collect` at registration."""
        return iter(())


def _of_the_side(found: Snapshot) -> Iterator[GaugeMetricFamily]:
    yield GaugeMetricFamily(ObserveMetric.BEHIND_SECONDS, "Behind the topics", found.behind_seconds)
    yield GaugeMetricFamily(ObserveMetric.MINUTES_OPEN, "Not judged for good", found.open_minutes)
    yield GaugeMetricFamily(ObserveMetric.LEDGER_OFFSET, "Next to be read", found.ledger_offset)
    waiting = GaugeMetricFamily(ObserveMetric.WAITING, "For their next try", labels=["tenant", "pipe"])
    for pipe, count in found.waiting.items():
        waiting.add_metric(pipe, count)
    yield waiting
    unread = GaugeMetricFamily(ObserveMetric.UNREAD, "Before a node", labels=["node"])
    for node, records in found.unread.items():
        unread.add_metric([node], records)
    yield unread
    overdue = GaugeMetricFamily(ObserveMetric.OVERDUE, "First record's, before retry", labels=["topic"])
    for topic, seconds in found.overdue.items():
        overdue.add_metric([topic], seconds)
    yield overdue


def _of_the_minute(found: Snapshot, tenants: Iterable[str]) -> Iterator[GaugeMetricFamily]:
    labels = ["tenant", "quantile"]
    rate = GaugeMetricFamily(ObserveMetric.EVENTS_PER_SECOND, "Events that came in", labels=["tenant"])
    end_to_end = GaugeMetricFamily(ObserveMetric.END_TO_END, "From the event's time", labels=labels)
    inside = GaugeMetricFamily(ObserveMetric.INSIDE, "From entering hifi", labels=labels)
    for tenant in tenants:
        card = found.card(tenant, found.whole_minute)
        rate.add_metric([tenant], card.collected / _MINUTE_SECONDS if card else 0)
        if card:
            _add(end_to_end, [tenant], card.end_to_end)
            _add(inside, [tenant], card.inside)
    yield from (rate, end_to_end, inside)


def _of_the_day(found: Snapshot, tenants: Iterable[str]) -> Iterator[GaugeMetricFamily]:
    sli = GaugeMetricFamily(ObserveMetric.SLI, "Good deliveries over those owed", labels=["tenant"])
    nines = GaugeMetricFamily(ObserveMetric.NINES, "Today's", labels=["tenant"])
    spent = GaugeMetricFamily(ObserveMetric.MINUTES_SPENT, "Today's", labels=["tenant"])
    loss = GaugeMetricFamily(ObserveMetric.LOSS_PERCENT, "Of today's deliveries owed", labels=["tenant"])
    for tenant in tenants:
        card, day = found.last_settled(tenant), found.day(tenant)
        if card and card.sli is not None:
            sli.add_metric([tenant], card.sli)
        if day and day.nines is not None:
            nines.add_metric([tenant], day.nines)
        spent.add_metric([tenant], len(day.spent) if day else 0)
        loss.add_metric([tenant], day.loss_percent if day else 0)
    yield from (sli, nines, spent, loss)


def _of_nodes(found: Snapshot, tenants: Iterable[str]) -> Iterator[GaugeMetricFamily]:
    lags = GaugeMetricFamily(
        ObserveMetric.LAG, "How late events were", labels=["tenant", "node", "edge", "quantile"]
    )
    process = GaugeMetricFamily(ObserveMetric.PROCESS, "What the node adds", labels=["node"])
    for tenant in tenants:
        card = found.card(tenant, found.whole_minute)
        for node in card.nodes if card else ():
            _add(lags, [tenant, node.node, "in"], node.lag_in)
            _add(lags, [tenant, node.node, "out"], node.lag_out)
            if tenant == ALL_TENANTS and node.process_ms is not None:
                process.add_metric([node.node], node.process_ms)
    yield from (lags, process)


def _add(into: GaugeMetricFamily, labels: list[str], found: Percentiles) -> None:
    for quantile, name in _QUANTILES:
        value = getattr(found, name)
        if value is not None:
            into.add_metric([*labels, quantile], value)
