"""Capacity that has to be warm before a burst: each way to meet it, on workers and on collect. Pure."""

from collections.abc import Iterator
from typing import Final

import msgspec
import numpy as np
from msgspec import Struct

from scripts.experiments.capacity.burst import (
    Burst,
    BurstResult,
    Latency,
    Opening,
    Scenario,
    least_warm,
    simulate,
)
from scripts.experiments.capacity.fleet import Tier
from scripts.experiments.capacity.points import Facts
from scripts.experiments.capacity.sizes import SideSize

SEED: Final = 1


class Way(Struct, frozen=True, kw_only=True):
    """A way to meet a burst."""

    name: str
    nodes_ready: bool = False
    """Whether new pods find nodes that run already."""

    opening: Opening | None = None
    other_runs: bool = False
    """Whether the other side's pods run, and are paid for, before the burst."""


class Answer(Struct, frozen=True, kw_only=True):
    """The pods that a way needs for a burst to a peak, on one tier."""

    tier: str
    way: str = ""
    both_run: bool = False
    """Whether the other side runs before the burst."""

    peak: float = 0.0
    """Events per second."""

    base_pods: int
    """Pods of a side that is sized for the base rate alone."""

    unprepared: BurstResult
    """The burst, started with the base's pods."""

    pods_at_peak: int
    least: int | None
    """Warm pods, on each side that takes part, that keep p95 within the promise; None if none do."""

    @property
    def share(self) -> float | None:
        """Least warm capacity of one side, in parts of the peak's."""
        return None if self.least is None else self.least / self.pods_at_peak


def ways(facts: Facts) -> tuple[Way, ...]:
    """The ways that are compared."""
    asked = facts["request_read"] + facts["scrape"]
    started = asked + facts["side_ready"]

    def opens(delay: float, shift: float) -> Opening:
        return Opening(trigger=facts["burst_trigger"], look_seconds=facts["scrape"], delay=delay, shift=shift)

    return (
        Way(name="autoscaler alone"),
        Way(name="autoscaler, nodes ready", nodes_ready=True),
        Way(name="burst on, other side parked", opening=opens(started, facts["weights_ttl"])),
        Way(name="burst on, other side runs", opening=opens(asked, facts["weights_ttl"]), other_runs=True),
        Way(
            name="the same, weights in force in 10 s",
            opening=opens(facts["open_local"], 0.0),
            other_runs=True,
        ),
    )


def tiers(facts: Facts, size: SideSize, utilisation: float, *, nodes_ready: bool) -> tuple[Tier, Tier]:
    """Spark workers and collect of a side of a size."""
    node = facts.figure("node_start")
    wait = (0.0, 0.0) if nodes_ready else (node.low, node.top)
    executor, cold = facts.figure("executor_start"), facts.figure("cold_capacity")
    registration = facts.figure("collect_registration")
    begin = facts["collect_start"]
    return (
        _tier(
            facts,
            "worker",
            pods=size.workers.held,
            limit=max(size.workers.scaled, size.workers.held),
            cores=facts["worker_cores"],
            utilisation=utilisation,
            start=(wait[0] + executor.low, wait[1] + executor.top),
            warm_up=facts["executor_warm_up"],
            cold=(cold.low, cold.top),
        ),
        _tier(
            facts,
            "collect",
            pods=size.pods_held,
            limit=max(size.pods, size.pods_held),
            cores=facts["collect_cores"],
            utilisation=utilisation,
            start=(wait[0] + begin + registration.low, wait[1] + begin + registration.top),
            warm_up=0.0,
            cold=(1.0, 1.0),
        ),
    )


def _tier(  # noqa: PLR0913 - what the two tiers differ in
    facts: Facts,
    name: str,
    *,
    pods: int,
    limit: int,
    cores: float,
    utilisation: float,
    start: tuple[float, float],
    warm_up: float,
    cold: tuple[float, float],
) -> Tier:
    return Tier(
        name=name,
        pods_at_peak=pods,
        limit=limit,
        busy_at_rating=cores * utilisation / facts[f"{name}_request"],
        busiest=cores / facts[f"{name}_request"],
        target=facts["cpu_target"],
        tolerance=facts["cpu_tolerance"],
        sync_seconds=facts["autoscaler_sync"],
        metric_age=facts["metric_age"],
        stabilization=facts[f"{name}_stabilization"],
        step_share=facts[f"{name}_step_share"],
        step_pods=int(facts[f"{name}_step_pods"]),
        step_seconds=facts[f"{name}_step_seconds"],
        start=start,
        warm_up=warm_up,
        cold=cold,
    )


def answers(
    facts: Facts, size: SideSize, base: SideSize, utilisation: float, burst: Burst
) -> Iterator[Answer]:
    """The needs of a burst from the base's size to the peak's, for each way and tier."""
    latency = Latency(p50=facts["latency_p50"], p95=facts["latency_p95"])
    for way in ways(facts):
        for tier in tiers(facts, size, utilisation, nodes_ready=way.nodes_ready):
            scenario = Scenario(tier=tier, burst=burst, latency=latency, opening=way.opening)
            running = base.workers.count if tier.name == "worker" else base.pods
            found = _answer(facts["promise"], scenario, running)
            yield msgspec.structs.replace(found, way=way.name, both_run=way.other_runs, peak=size.rate)


def _answer(promise: float, scenario: Scenario, running: int) -> Answer:
    tier = scenario.tier

    def result(warm: int) -> BurstResult:
        return simulate(scenario, warm, np.random.default_rng(SEED))

    return Answer(
        tier=tier.name,
        base_pods=running,
        unprepared=result(min(running, tier.pods_at_peak)),
        pods_at_peak=tier.pods_at_peak,
        least=least_warm(lambda warm: result(warm).highest <= promise, tier.pods_at_peak),
    )
