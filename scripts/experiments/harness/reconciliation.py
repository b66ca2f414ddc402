"""Compares the records of a load's sender and of its destination. Pure."""

from collections.abc import Callable, Iterable

from msgspec import Struct

from scripts.experiments.harness.percentiles import Quantiles, quantiles
from scripts.load.records import Acked, Received
from scripts.load.verify import check_delivery


class LoadReconciliation(Struct, frozen=True, kw_only=True):
    """Counts of events, and their lags in milliseconds."""

    delivered: int
    waiting: int
    lost: int
    duplicated: int
    lag: Quantiles | None


def reconcile(
    acked: Iterable[Acked], received: Iterable[Received], visible: Callable[[], Iterable[str]]
) -> LoadReconciliation:
    """Compare acknowledged events with arrivals; `visible` is called only if something is missing.

    Arrivals without acknowledgement (of the lead-in, or of requests that timed out) do not count. The lag of
    an event is that of its first arrival.
    """
    promised = {one.event_id for one in acked}
    first: dict[str, int | None] = {}
    arrivals = 0
    for one in received:
        if one.event_id in promised:
            arrivals += 1
            first.setdefault(one.event_id, one.lag_ms)
    missing = promised - first.keys()
    found = check_delivery(missing, (), visible() if missing else ())
    return LoadReconciliation(
        delivered=len(first),
        waiting=found.waiting,
        lost=len(found.lost),
        duplicated=arrivals - len(first),
        lag=quantiles(lag for lag in first.values() if lag is not None),
    )
