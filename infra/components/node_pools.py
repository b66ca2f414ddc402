"""What a side's node groups are for, and what the Cluster Autoscaler must be told about them. Pure."""

from collections.abc import Mapping
from dataclasses import dataclass
from typing import Literal

from infra.sizes import ClusterSettings, NodeGroup

POOL = "hifi/pool"
"""Label, and key of the taint, by which workloads choose a node group."""

_TAGS = "k8s.io/cluster-autoscaler"


@dataclass(frozen=True, kw_only=True)
class Pool:
    """A node group with its purpose."""

    name: str
    capacity: Literal["ON_DEMAND", "SPOT"]
    reserved: bool
    """Whether only workloads that tolerate its taint run on it."""
    group: NodeGroup

    @property
    def labels(self) -> dict[str, str]:
        """Labels of its nodes."""
        return {POOL: self.name}

    @property
    def image(self) -> str:
        """Amazon Linux for the instances' processor, as EKS names it."""
        return "AL2023_ARM_64_STANDARD" if self.group.is_graviton else "AL2023_x86_64_STANDARD"


def autoscaler_tags(pool: Pool, cluster_name: str) -> Mapping[str, str]:
    """Tags of a pool's Auto Scaling group.

    The first two let the autoscaler find the group; it takes only groups that have both. The others tell it
    what a node would be like while there is none, without which it never scales a pool up from zero.

    Args:
        pool: The pool.
        cluster_name: Name of the EKS cluster.
    """
    node = f"{_TAGS}/node-template"
    hints = {f"{node}/label/{label}": value for label, value in pool.labels.items()}
    hints |= {f"{node}/label/eks.amazonaws.com/capacityType": pool.capacity}
    hints |= {f"{node}/resources/ephemeral-storage": f"{pool.group.disk_gib}Gi"}
    if pool.reserved:
        hints |= {f"{node}/taint/{POOL}": f"{pool.name}:NoSchedule"}
    return {f"{_TAGS}/enabled": "true", f"{_TAGS}/{cluster_name}": "owned"} | hints


def pools(settings: ClusterSettings) -> tuple[Pool, ...]:
    """The node groups of a side.

    Drivers keep the progress of a query and services answer clients, so both are on demand; a Spark worker
    that spot takes away costs a task that runs again.

    Args:
        settings: Sizes of the groups.
    """
    return (
        Pool(name="services", capacity="ON_DEMAND", reserved=False, group=settings.services),
        Pool(name="drivers", capacity="ON_DEMAND", reserved=True, group=settings.drivers),
        Pool(name="workers", capacity="SPOT", reserved=True, group=settings.workers),
    )
