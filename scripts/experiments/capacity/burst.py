"""A burst, simulated: a load that rises, a queue, and an autoscaler that runs after it. Pure.

Events are a fluid in steps of a quarter of a second, first in, first out. A pod takes up to its share of the
rating; what is more waits. An event's lag is its wait and what the chain takes at its rating anyway. The
capacity is in rated pods, so a short overload of a few percent, which a chain would carry, waits here.
"""

from collections.abc import Callable
from statistics import NormalDist
from typing import Final

import numpy as np
from msgspec import Struct
from numpy.typing import NDArray

from scripts.experiments.capacity.fleet import Fleet, Tier
from shared.runtime.errors import UsageError

STEP: Final = 0.25
_QUANTILES: Final = (*(number / 40 for number in range(1, 40)), 79 / 80)
"""p95 by nearest rank is the one of 0.95."""

Vector = NDArray[np.float64]


class Burst(Struct, frozen=True, kw_only=True):
    """A load that rises evenly to its peak and stays there; rates in parts of the peak, times in seconds."""

    times: float = 50.0
    """Peak to base."""

    rise: float = 120.0
    seconds: float = 900.0
    """Simulated time, from the beginning of the rise."""

    def rate(self, now: float) -> float:
        """The load at a time."""
        base = 1 / self.times
        return base + (1 - base) * min(max(now / self.rise, 0.0), 1.0)


class Latency(Struct, frozen=True, kw_only=True):
    """Lag of a chain at its rating, seconds: a lognormal distribution by its quantiles."""

    p50: float
    p95: float

    def quantiles(self) -> Vector:
        """Forty values that stand for the distribution."""
        mean, normal = np.log(self.p50), NormalDist()
        sigma = (np.log(self.p95) - mean) / normal.inv_cdf(0.95)
        return np.exp([mean + sigma * normal.inv_cdf(each) for each in _QUANTILES])


class Opening(Struct, frozen=True, kw_only=True):
    """The other side, with as many warm pods, takes up to half of the load."""

    trigger: float
    """Load in parts of this side's warm capacity at which the burst is asked for."""

    look_seconds: float
    """Between two looks at the load."""

    delay: float
    """Seconds from the request until the other side takes its first events."""

    shift: float
    """Seconds from then until it takes half."""


class BurstResult(Struct, frozen=True, kw_only=True):
    """The result of a burst on the side that has more of it."""

    p95: list[float]
    """p95 in seconds, for each second of sending."""

    backlog: list[float]
    """Events that wait, by second, in seconds of the peak rate."""

    pods: int
    """At the end."""

    first_pod: float | None
    """When the first pod beyond the warm ones took events, seconds; None if none did."""

    @property
    def highest(self) -> float:
        """The highest p95 of a second."""
        return max(self.p95)

    def late(self, promise: float) -> int:
        """Seconds with a p95 above the promise."""
        return sum(each > promise for each in self.p95)


class Scenario(Struct, frozen=True, kw_only=True):
    """A burst on one part of a side."""

    tier: Tier
    burst: Burst
    latency: Latency
    opening: Opening | None = None

    def load(self, now: float, other: float) -> float:
        """The load of this side, in warm pods; `other` is the other side's share of the burst."""
        return self.burst.rate(now) * (1 - other) * self.tier.pods_at_peak


def simulate(scenario: Scenario, warm: int, rng: np.random.Generator) -> BurstResult:
    """Follow a burst from `warm` pods on.

    Raises:
        UsageError: if `warm` is not at least one.
    """
    if warm < 1:
        raise UsageError(f"warm: {warm} pods take no events", "use 1 or more")
    tier, end = scenario.tier, scenario.burst.seconds
    fleet, share = Fleet(tier=tier, rng=rng, warm=warm), _other_side(scenario, warm)
    times = np.arange(0, end, STEP)
    arrived, served = np.zeros(len(times) + 1), np.zeros(len(times) + 1)
    looked, first = -tier.sync_seconds, None
    for number, now in enumerate(times.tolist()):
        if now - looked >= tier.sync_seconds:
            looked, then = now, max(now - tier.metric_age, 0.0)
            waiting = arrived[number] - served[number]
            fleet.scale(now, scenario.load(then, share(then)) + waiting / tier.sync_seconds)
        arrived[number + 1] = arrived[number] + STEP * scenario.load(now, share(now))
        served[number + 1] = min(arrived[number + 1], served[number] + STEP * fleet.capacity(now))
        if first is None and fleet.ready(now) > warm:
            first = now
    each = int(1 / STEP)
    return BurstResult(
        p95=_p95(np.append(times, end), arrived, served, fleet.capacity(end), scenario.latency),
        backlog=((arrived - served)[each::each] / tier.pods_at_peak).round(3).tolist(),
        pods=fleet.pods,
        first_pod=first,
    )


def least_warm(holds: Callable[[int], bool], most: int) -> int | None:
    """The smallest number of pods from 1 to `most` that holds, by bisection; None if `most` does not.

    More pods must hold whenever fewer do.
    """
    if not holds(most):
        return None
    fails, works = 0, most
    while works - fails > 1:
        middle = (fails + works) // 2
        if holds(middle):
            works = middle
        else:
            fails = middle
    return works


def _other_side(scenario: Scenario, warm: int) -> Callable[[float], float]:
    """The other side's share of the load over time."""
    burst, opening = scenario.burst, scenario.opening
    if opening is None:
        return lambda _: 0.0
    limit = opening.trigger * warm / scenario.tier.pods_at_peak
    looks = np.arange(0, burst.seconds, opening.look_seconds)
    asked = next((float(each) for each in looks if burst.rate(each) > limit), float("inf"))
    opened = asked + opening.delay

    def share(now: float) -> float:
        if now < opened:
            return 0.0
        return 0.5 if not opening.shift else min(0.5, 0.5 * (now - opened) / opening.shift)

    return share


def _p95(edges: Vector, arrived: Vector, served: Vector, capacity: float, latency: Latency) -> list[float]:
    """p95 of the events of each second: an event waits until all that came before it are served."""
    left = arrived[-1] - served[-1]
    served_at = np.append(edges, edges[-1] + left / max(capacity, 1e-9))
    waits = np.maximum(np.interp(arrived, np.append(served, arrived[-1]), served_at) - edges, 0.0)
    waits[arrived - served < 1e-9] = 0.0  # a rounding error is not a wait
    lags, each = latency.quantiles(), int(1 / STEP)
    rows = waits[: len(waits) // each * each].reshape(-1, each)
    found = np.quantile(rows[:, :, None] + lags, 0.95, axis=(1, 2), method="inverted_cdf")
    return [float(p95) for p95 in found.round(3)]
