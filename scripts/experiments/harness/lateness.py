"""How late events were around a disturbance, by the second they were sent. Pure."""

from collections import defaultdict
from collections.abc import Iterable, Mapping

from msgspec import Struct

from scripts.experiments.harness.percentiles import percentile
from scripts.load.records import Received
from shared.contracts.ledger import GOOD_MS


class Lateness(Struct, frozen=True, kw_only=True):
    """How late the events of a load were."""

    late_seconds: int
    """Seconds with a p95 of more than a second."""

    recovered_seconds: float
    """Time from the fault to the end of the last such second; 0 if there was none."""

    highest_p95_ms: float
    late_before: int
    """Late seconds before the fault, which it did not cause."""


def p95_by_second(received: Iterable[Received]) -> Mapping[int, float]:
    """p95 of the lags of events by the second they were sent, epoch seconds; first arrivals count."""
    seen: set[str] = set()
    lags: dict[int, list[int]] = defaultdict(list)
    for one in received:
        if one.lag_ms is not None and one.event_id not in seen:
            seen.add(one.event_id)
            lags[(one.received_ms - one.lag_ms) // 1_000].append(one.lag_ms)
    return {second: percentile(sorted(found), 95) for second, found in sorted(lags.items())}


def lateness(p95: Mapping[int, float], fault_ms: int) -> Lateness:
    """Figures of a load with one fault at a time in epoch milliseconds."""
    late = [second for second, lag in p95.items() if lag > GOOD_MS]
    first = fault_ms // 1_000 - 1  # an event that was under way at the fault may have been sent before it
    after = [second for second in late if second >= first]
    return Lateness(
        late_seconds=len(after),
        recovered_seconds=max(0.0, (after[-1] + 1) - fault_ms / 1_000) if after else 0.0,
        highest_p95_ms=max((lag for second, lag in p95.items() if second >= first), default=0),
        late_before=len(late) - len(after),
    )
