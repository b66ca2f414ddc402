"""Service quotas that an environment needs, without any call of AWS."""

import re
from collections.abc import Iterable, Sequence
from dataclasses import dataclass

from infra.config import Environment
from infra.naming import Side
from infra.sizes import NodeGroup

_SIZE = re.compile(r"\.(?:(?P<times>\d*)xlarge|(?P<small>nano|micro|small|medium|large))$")
_SMALL = {"nano": 2, "micro": 2, "small": 2, "medium": 1, "large": 2}
_XLARGE_VCPUS = 4


@dataclass(frozen=True, kw_only=True)
class Demand:
    """An environment's need of one quota.

    Attributes:
        service: Service code in Service Quotas.
        code: Quota code in Service Quotas.
        name: What is counted, as AWS names it.
        needed: How many the environment uses at most, both sides at their largest.
        purpose: What for, in one line.
    """

    service: str
    code: str
    name: str
    needed: int
    purpose: str


@dataclass(frozen=True, kw_only=True)
class Shortage:
    """A quota that is too small.

    Attributes:
        demand: What the environment needs.
        quota: The quota of the account.
        used: How many of it others in the account use already.
    """

    demand: Demand
    quota: int
    used: int

    @property
    def wanted(self) -> int:
        """The value to request."""
        return self.demand.needed + self.used


def vcpus(instance_type: str) -> int:
    """Virtual CPUs of an instance type, by its size: `c7g.xlarge` has 4.

    Raises:
        ValueError: The size is not known.
    """
    found = _SIZE.search(instance_type)
    if found is None:
        raise ValueError(f"{instance_type}: no known size; use one such as m7g.large or c7g.2xlarge")
    if found["small"]:
        return _SMALL[found["small"]]
    return int(found["times"] or 1) * _XLARGE_VCPUS


def demands(environment: Environment) -> list[Demand]:
    """The demands of an environment with both sides at their largest, as in a burst.

    Args:
        environment: Settings of the environment.
    """
    sides, cluster = len(Side), environment.cluster
    on_demand = [cluster.services, cluster.drivers, cluster.spare_workers]
    nats = sides * environment.network.nat_gateways
    return [
        Demand(
            service="ec2",
            code="L-0263D0A3",
            name="EC2-VPC Elastic IPs",
            needed=nats,
            purpose="one for each NAT gateway",
        ),
        Demand(
            service="ec2",
            code="L-1216C47A",
            name="vCPUs of running on-demand standard instances",
            needed=sides * _largest(on_demand),
            purpose="services, drivers and workers without spot",
        ),
        Demand(
            service="ec2",
            code="L-34B43A08",
            name="vCPUs of standard spot instance requests",
            needed=sides * _largest([cluster.workers]),
            purpose="Spark workers",
        ),
        Demand(
            service="vpc",
            code="L-F678F1CE",
            name="VPCs per region",
            needed=sides,
            purpose="one for each side",
        ),
        Demand(
            service="vpc",
            code="L-FE5A380F",
            name="NAT gateways per availability zone",
            needed=sides,
            purpose="one for each side in a zone",
        ),
    ]


def _largest(groups: Iterable[NodeGroup]) -> int:
    """vCPUs of node groups at their maximum, with the largest type that each may use."""
    return sum(group.maximum * max(map(vcpus, group.instance_types)) for group in groups)


def shortages(
    wanted: Sequence[Demand], quotas: dict[str, int], used_by_others: dict[str, int]
) -> list[Shortage]:
    """The quotas that are too small.

    Args:
        wanted: What the environment needs.
        quotas: Quotas of the account, by code.
        used_by_others: What the account uses already beside the environment, by code.
    """
    found = [
        Shortage(demand=each, quota=quotas[each.code], used=used_by_others.get(each.code, 0))
        for each in wanted
    ]
    return [each for each in found if each.wanted > each.quota]
