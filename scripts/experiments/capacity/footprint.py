"""Capacity that runs before a burst, and its cost. Pure."""

from collections.abc import Callable, Sequence

import msgspec
from msgspec import Struct

from scripts.experiments.capacity import dollars
from scripts.experiments.capacity.points import Facts
from scripts.experiments.capacity.sizes import Brokers, SideSize
from scripts.experiments.capacity.warm import Answer


class Footprint(Struct, frozen=True, kw_only=True):
    """The capacity that runs before a burst so that p95 keeps within the promise.

    Brokers and partitions are those of the peak: neither grows within minutes.
    """

    way: str
    peak: float
    sides: int
    """How many run before the burst; both have brokers and topics in any case."""

    partitions: int
    brokers: Brokers
    workers: int
    """Spark workers on each running side."""

    pods: int
    """Pods of collect on each running side."""

    dollars: float
    """A month, beyond a side that is sized for the base rate alone."""


def footprint(
    facts: Facts, found: Sequence[Answer], base: SideSize, sizer: Callable[[float], SideSize]
) -> Footprint | None:
    """The footprint of a whole side from a way's answers; None if one of its tiers cannot keep the promise.

    Args:
        facts: prices, and the autoscaler's minimum.
        found: the answers of one way, one for each tier.
        base: the side of the base rate.
        sizer: the smallest side that holds a rate, events per second.
    """
    least = {each.tier: each.least for each in found}
    worker, collect = least["worker"], least["collect"]
    if worker is None or collect is None:
        return None
    shares = [each.share for each in found if each.share is not None]
    way = found[0]
    size = sizer(way.peak * max(shares)) if way.both_run else sizer(way.peak)
    ready = Footprint(
        way=way.way,
        peak=way.peak,
        sides=2 if way.both_run else 1,
        partitions=size.partitions,
        brokers=size.brokers,
        workers=max(worker, size.workers.slots, int(facts["worker_minimum"])),
        pods=max(collect, int(facts["collect_minimum"])),
        dollars=0.0,
    )
    return msgspec.structs.replace(ready, dollars=_dollars(facts, ready) - _dollars(facts, _of(base)))


def _of(size: SideSize) -> Footprint:
    return Footprint(
        way="",
        peak=size.rate,
        sides=1,
        partitions=size.partitions,
        brokers=size.brokers,
        workers=size.workers.count,
        pods=size.pods,
        dollars=0.0,
    )


def _dollars(facts: Facts, ready: Footprint) -> float:
    """Both sides' brokers, and what runs on each side that does."""
    drivers = facts["driver_nodes"] * facts["node_month"]
    running = ready.workers * dollars.worker(facts) + ready.pods * dollars.pod(facts) + drivers
    return 2 * dollars.larger_brokers(facts, ready.brokers) + ready.sides * running
