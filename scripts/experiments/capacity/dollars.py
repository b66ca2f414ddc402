"""The monthly cost of a side, by line, in US dollars. Pure."""

import math
from typing import Final

from scripts.experiments.capacity.points import Facts
from scripts.experiments.capacity.sizes import Brokers, SideSize

_HOURS: Final = 730
_SMALLEST_BROKERS: Final = 3
_SMALLEST_BROKER_CORES: Final = 2


def monthly(facts: Facts, size: SideSize) -> dict[str, float]:
    """Both sides, one of them light, with one pipe an event of 500 bytes, as in docs/infrastructure.md."""
    rate, brokers = size.rate, size.brokers
    return {
        "both sides dark, foundation, edge": facts["dark"],
        "larger brokers, both sides": 2 * larger_brokers(facts, brokers),
        "volumes": _growth(facts, brokers),
        "Spark workers": size.workers.count * worker(facts),
        "drivers": facts["driver_nodes"] * facts["node_month"],
        "nodes of services": _service_nodes(facts, size.pods) * facts["node_month"],
        "load balancer": facts["balancer_month"] + rate * facts["balancer_rate"],
        "between zones": rate * facts["zones_rate"],
        "NAT gateways": rate * facts["nat_rate"],
        "out to destinations": rate * facts["out_rate"],
        "checkpoints": facts["checkpoints_month"],
    }


def worker(facts: Facts) -> float:
    """A Spark worker with its node and volume, on spot, dollars a month."""
    hour = facts["worker_hour"] * facts["region_factor"] * facts["spot_share"]
    return hour * _HOURS + facts["worker_volume_month"]


def pod(facts: Facts) -> float:
    """A pod of collect: its share of a node, dollars a month."""
    return facts["node_month"] / facts["collect_pods_a_node"]


def larger_brokers(facts: Facts, brokers: Brokers) -> float:
    """The cost of a side's brokers and their first volumes beyond three of the smallest, dollars a month."""
    cores = brokers.cores - _SMALLEST_BROKERS * _SMALLEST_BROKER_CORES
    volumes = (brokers.count - _SMALLEST_BROKERS) * facts["broker_first_volume"]
    return cores * facts["broker_core_hour"] * _HOURS + volumes * facts["volume_month"]


def _growth(facts: Facts, brokers: Brokers) -> float:
    """The light side's volumes beyond their first size."""
    return max(0.0, brokers.stored_gib - brokers.count * facts["broker_first_volume"]) * facts["volume_month"]


def _service_nodes(facts: Facts, pods: int) -> int:
    """Nodes for collect beside those of a dark side, which the add-ons fill."""
    return math.ceil(pods / facts["collect_pods_a_node"])
