"""Partitions, workers, brokers and pods of a side for a rate. Pure."""

import math
from typing import Final

from msgspec import Struct

from scripts.experiments.capacity.model import BROKERS, COLLECT, JVM, PYTHON, Demand, Model
from scripts.experiments.capacity.points import Facts

BATCH: Final = 100
"""Events per request, as in the measured points."""

_BROKER_CORES: Final = (2, 4, 8, 16, 32)
"""Cores of kafka.m7g.large to kafka.m7g.8xlarge."""

_DAY_SECONDS: Final = 86_400
_WORKER_PARTS: Final = (JVM, PYTHON)


class Brokers(Struct, frozen=True, kw_only=True):
    """The MSK cluster of a side."""

    count: int
    cores_each: int
    stored_gib: float
    """All replicas, after the whole retention."""

    @property
    def cores(self) -> int:
        """Cores of all brokers."""
        return self.count * self.cores_each


class Workers(Struct, frozen=True, kw_only=True):
    """Spark workers, each on a node of its own."""

    held: int
    """Full to the utilisation of the rating: fewer cannot hold the rate."""

    scaled: int
    """Where the autoscaler's CPU target leaves the number."""

    slots: int
    """Workers that give each partition a slot at all times, even if a zone fails."""

    count: int
    """Workers that run: the largest of `scaled`, `slots` and the autoscaler's minimum."""


class SideSize(Struct, frozen=True, kw_only=True):
    """A side that holds a rate."""

    rate: float
    partitions: int
    cores_least: dict[str, float]
    """Cores by part, if the fixed cost is paid once."""

    cores_most: dict[str, float]
    """Cores by part, if each partition pays the fixed cost; the sizes are for these."""

    workers: Workers
    pods_held: int
    pods: int
    """Pods of collect: `pods_held` hold the rate, `pods` run."""

    brokers: Brokers

    @property
    def worker_cores(self) -> float:
        """Cores in use on the workers, at most."""
        return sum(self.cores_most[part] for part in _WORKER_PARTS)


def side_size(facts: Facts, model: Model, utilisation: float, rate: float) -> SideSize:
    """The smallest side that holds a rate.

    Args:
        facts: settings of the infrastructure, and bounds.
        model: fitted costs.
        utilisation: share of cores that may be in use.
        rate: events per second, with one pipe each.

    Raises:
        UsageError: if the rate is not above 0.
    """
    partitions = partitions_for(facts, rate)
    most = model.cores(Demand(rate=rate, batch=BATCH, partitions=partitions))
    least = model.cores(Demand(rate=rate, batch=BATCH))
    on_workers, on_collect = sum(most[part] for part in _WORKER_PARTS), most[COLLECT]
    pods = math.ceil(on_collect / (facts["collect_request"] * facts["cpu_target"]))
    return SideSize(
        rate=rate,
        partitions=partitions,
        cores_least=least,
        cores_most=most,
        workers=_workers(facts, utilisation, on_workers, partitions),
        pods_held=math.ceil(on_collect / (facts["collect_cores"] * utilisation)),
        pods=max(pods, int(facts["collect_minimum"])),
        brokers=_brokers(facts, most[BROKERS], rate),
    )


def partitions_for(facts: Facts, rate: float) -> int:
    """Partitions of each busy topic: at least those of a new side, and the same number in each zone."""
    needed = max(rate / facts["partition_rate"], facts["partitions"])
    zones = int(facts["zones"])
    return math.ceil(needed / zones) * zones


def _workers(facts: Facts, utilisation: float, cores: float, partitions: int) -> Workers:
    scaled = math.ceil(cores / (facts["worker_request"] * facts["cpu_target"]))
    zones = int(facts["zones"])
    slots = math.ceil(partitions * zones / (facts["executor_slots"] * (zones - 1)))
    return Workers(
        held=math.ceil(cores / (facts["worker_cores"] * utilisation)),
        scaled=scaled,
        slots=slots,
        count=max(scaled, slots, int(facts["worker_minimum"])),
    )


def _brokers(facts: Facts, cores: float, rate: float) -> Brokers:
    """The cheapest that have cores, disk bandwidth and volumes for a rate; prices rise with the cores."""
    stored = rate * facts["stored_bytes"] * facts["retention"] * _DAY_SECONDS / 2**30
    written_mb = rate * facts["stored_bytes"] / 1e6
    options = [
        Brokers(count=_count(facts, cores, written_mb, stored, each), cores_each=each, stored_gib=stored)
        for each in _BROKER_CORES
    ]
    return min(options, key=lambda option: (option.cores, option.count))


def _count(facts: Facts, cores: float, written_mb: float, stored_gib: float, each: int) -> int:
    needed = max(
        cores / (each * facts["broker_cpu_share"]),
        written_mb / (each * facts["broker_write_mb"]),
        stored_gib / facts["broker_largest_volume"],
        facts["broker_minimum"],
    )
    zones = int(facts["zones"])
    return math.ceil(needed / zones) * zones
