"""A side's node pools and the tags by which the Cluster Autoscaler knows them, without any resource."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from infra.sizes import ClusterSettings, NodeGroup

POOL = "hifi/pool"
"""Label, and key of the taint, by which workloads choose a node group."""

SPOT_WORKERS = "workers"
_TAGS = "k8s.io/cluster-autoscaler"


@dataclass(frozen=True, kw_only=True)
class Pool:
    """Nodes of one kind, and the workloads that they are for.

    Attributes:
        name: Start of the names of its node groups.
        workloads: Value of the label, and of the taint, by which workloads choose it.
        capacity: How AWS sells its instances.
        reserved: Whether it has a taint, so that only workloads that tolerate it run there.
        group: Sizes over all zones.
    """

    name: str
    workloads: str
    capacity: Literal["ON_DEMAND", "SPOT"]
    reserved: bool
    group: NodeGroup

    @property
    def labels(self) -> dict[str, str]:
        """Kubernetes labels of its nodes."""
        return {POOL: self.workloads}

    @property
    def image(self) -> str:
        """EKS's name of the Amazon Linux image for the instances' processor."""
        return "AL2023_ARM_64_STANDARD" if self.group.is_graviton else "AL2023_x86_64_STANDARD"


def autoscaler_tags(pool: Pool, cluster_name: str, zone: str) -> Mapping[str, str]:
    """Tags of the Auto Scaling group of a pool in a zone.

    The autoscaler manages only groups that have both of the first two. The others describe a node while the
    group has none; without them it never scales a pool up from zero.

    Args:
        pool: The pool.
        cluster_name: Name of the EKS cluster.
        zone: Name of the availability zone, which volumes and spreads choose nodes by.
    """
    node = f"{_TAGS}/node-template"
    hints = {f"{node}/label/{label}": value for label, value in pool.labels.items()}
    hints |= {f"{node}/label/eks.amazonaws.com/capacityType": pool.capacity}
    hints |= {f"{node}/label/topology.kubernetes.io/zone": zone}
    hints |= {f"{node}/resources/ephemeral-storage": f"{pool.group.disk_gib}Gi"}
    if pool.reserved:
        hints |= {f"{node}/taint/{POOL}": f"{pool.workloads}:NoSchedule"}
    return {f"{_TAGS}/enabled": "true", f"{_TAGS}/{cluster_name}": "owned"} | hints


def pools(settings: ClusterSettings) -> tuple[Pool, ...]:
    """The node groups of a side.

    Services answer clients and drivers hold the state of their queries, so both run on demand. Losing a Spark
    worker on a spot instance only repeats a task. Spare workers start if there is no spot capacity.

    Args:
        settings: Sizes of the groups.
    """
    return (
        Pool(
            name="services",
            workloads="services",
            capacity="ON_DEMAND",
            reserved=False,
            group=settings.services,
        ),
        Pool(
            name="drivers", workloads="drivers", capacity="ON_DEMAND", reserved=True, group=settings.drivers
        ),
        Pool(name=SPOT_WORKERS, workloads="workers", capacity="SPOT", reserved=True, group=settings.workers),
        Pool(
            name="spare-workers",
            workloads="workers",
            capacity="ON_DEMAND",
            reserved=True,
            group=settings.spare_workers,
        ),
    )
