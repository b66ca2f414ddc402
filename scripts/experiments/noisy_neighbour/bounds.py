"""Bounds on what bad destinations may cost the good ones. Pure."""

from collections.abc import Sequence
from typing import Final

from scripts.experiments.harness.bounds import Bound
from scripts.experiments.harness.percentiles import spread
from scripts.experiments.noisy_neighbour.measure import IsolationPhase
from scripts.experiments.noisy_neighbour.resource_usage import ResourceUsage

MOST_RATIO: Final = 1.25
"""Highest ratio of p95 or of resource usage; noise of a busy machine is less in the median."""


def lag_bounds(phases: Sequence[IsolationPhase]) -> list[Bound]:
    """Bounds on phases in pairs: without the bad destinations, then with them."""
    pairs = zip(phases[::2], phases[1::2], strict=True)
    ratio = spread(bad.lag.p95 / good.lag.p95 for good, bad in pairs)
    return [
        *_arrived(phases),
        Bound(
            what="p95 beside the bad ones, in the median of the pairs",
            figure=ratio.median if ratio else None,
            most=MOST_RATIO,
            unit="times that without",
        ),
    ]


def leak_bounds(phase: IsolationPhase) -> list[Bound]:
    """Bounds on the highest usage in the last quarter of a phase, relative to the first."""
    first, last = phase.held_first, phase.held_last
    return [
        *_arrived([phase]),
        *(
            Bound(
                what=f"{name} in the last quarter",
                figure=getattr(last, name) if last else None,
                most=MOST_RATIO * getattr(first, name) if first else 0.0,
                unit="MiB" if name == "megabytes" else name,
            )
            for name in ResourceUsage.__struct_fields__
        ),
    ]


def _arrived(phases: Sequence[IsolationPhase]) -> list[Bound]:
    missing = sum(phase.missing for phase in phases)
    return [Bound(what="not delivered to the good ones in time", figure=missing, most=0, unit="events")]
