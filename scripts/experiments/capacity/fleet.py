"""The pods of one part of a side, and the autoscaler that adds to them. Pure; times are seconds."""

import math
from collections import deque
from dataclasses import dataclass, field

import numpy as np
from msgspec import Struct

_READY_BEFORE = -1e9


class Tier(Struct, frozen=True, kw_only=True):
    """A part that the autoscaler sizes: how much a pod does, how it scales, and how long a pod takes."""

    name: str
    pods_at_peak: int
    """Warm, these hold the peak rate exactly."""

    limit: int
    """The autoscaler does not go beyond."""

    busy_at_rating: float
    """CPU of a pod that is as full as the rating allows, in parts of its request."""

    busiest: float
    """CPU of a pod that uses all its cores, in parts of its request."""

    target: float
    """Mean CPU in parts of the request that the autoscaler aims for."""

    tolerance: float
    """Parts of the target within which it does nothing."""

    sync_seconds: float
    metric_age: float
    """Seconds from the load until the autoscaler sees it."""

    stabilization: float
    step_share: float
    step_pods: int
    step_seconds: float
    """Period in which the autoscaler adds at most `step_share` of the pods, or `step_pods` if more."""

    start: tuple[float, float]
    """Least and most seconds from wanting a pod until it takes events."""

    warm_up: float
    """Seconds after its start in which a pod does `cold` of what it does later."""

    cold: tuple[float, float]


@dataclass
class Fleet:
    """Pods at work and on their way."""

    tier: Tier
    rng: np.random.Generator
    """Draws each pod's start and how much it does while it is cold."""

    warm: int
    _serving: list[float] = field(default_factory=list)
    _cold: list[float] = field(default_factory=list)
    _added: deque[tuple[float, int]] = field(default_factory=deque)
    _wanted: deque[tuple[float, int]] = field(default_factory=deque)

    def __post_init__(self) -> None:
        """Begin with warm pods."""
        self._serving = [_READY_BEFORE] * self.warm
        self._cold = [1.0] * self.warm

    @property
    def pods(self) -> int:
        """At work and on their way."""
        return len(self._serving)

    def ready(self, now: float) -> int:
        """Pods that take events, cold ones included."""
        return sum(since <= now for since in self._serving)

    def capacity(self, now: float) -> float:
        """How much they do, in warm pods."""
        tier = self.tier
        return sum(
            (1.0 if now - since >= tier.warm_up else cold)
            for since, cold in zip(self._serving, self._cold, strict=True)
            if since <= now
        )

    def scale(self, now: float, load: float) -> None:
        """One look of the autoscaler; `load` is what pods have to do, in warm pods at the rating.

        Pods on their way count as idle, as the Horizontal Pod Autoscaler counts them.
        """
        tier, ready = self.tier, self.ready(now)
        busy = min(load / max(self.capacity(now), 1e-9) * tier.busy_at_rating, tier.busiest)
        over = ready * busy / (tier.target * self.pods)
        wanted = math.ceil(ready * busy / tier.target) if over > 1 + tier.tolerance else self.pods
        self._wanted.append((now, wanted))
        while self._wanted[0][0] < now - tier.stabilization:
            self._wanted.popleft()
        steady = min(pods for _, pods in self._wanted)
        self._add(now, min(steady, self._step_limit(now), tier.limit) - self.pods)

    def _step_limit(self, now: float) -> int:
        tier = self.tier
        while self._added and self._added[0][0] <= now - tier.step_seconds:
            self._added.popleft()
        before = self.pods - sum(count for _, count in self._added)
        return max(before + tier.step_pods, math.ceil(before * (1 + tier.step_share)))

    def _add(self, now: float, count: int) -> None:
        if count <= 0:
            return
        self._added.append((now, count))
        self._serving += [now + each for each in self.rng.uniform(*self.tier.start, count)]
        self._cold += list(self.rng.uniform(*self.tier.cold, count))
