"""Versions and sizes of a side's parts, the same for both sides of an environment."""

import re
from ipaddress import IPv4Network
from typing import Annotated, Literal, Self

from pydantic import AfterValidator, Field, StringConstraints, field_validator, model_validator

from infra.model import Model

ZONES = 3
SMALLEST_PREFIX = 20
"""Longest prefix of a VPC's range, bits: a longer one has too few addresses for the pods of three zones."""

_SPOT_TYPES = 8
_GRAVITON = re.compile(r"^[a-z]+\d+g")
_RETENTIONS = {
    1,
    3,
    5,
    7,
    14,
    30,
    60,
    90,
    120,
    150,
    180,
    365,
    400,
    545,
    731,
    1096,
    1827,
    2192,
    2557,
    2922,
    3288,
    3653,
}


def _is_retention(days: int) -> int:
    if days not in _RETENTIONS:
        nearest = min(_RETENTIONS, key=lambda each: abs(each - days))
        raise ValueError(f"CloudWatch has no retention of {days} days; use {nearest}, the nearest one")
    return days


IamRole = Annotated[str, StringConstraints(pattern=r"^arn:aws:iam::\d{12}:role/.+$")]
AddonVersion = Annotated[str, StringConstraints(pattern=r"^v\d+\.\d+\.\d+-eksbuild\.\d+$")]
LogDays = Annotated[int, AfterValidator(_is_retention)]


class NetworkSettings(Model):
    """NAT gateways, endpoints, logs and clients of the VPC."""

    nat_gateways: Literal[1, 3] = Field(description="3: one in each zone; 1: cheaper, lost with its zone.")
    flow_log_days: LogDays = Field(description="Retention of the flow logs, days.")
    client_ranges: list[IPv4Network] = Field(
        min_length=1,
        description="Address ranges from which clients reach the load balancer: your customers' ranges or "
        "0.0.0.0/0 with exposure internet, ranges of connected networks with exposure internal.",
    )
    interface_endpoints: list[str] = Field(
        description="AWS services with an interface endpoint, such as `ecr.api`; others use NAT gateways."
    )


class KafkaSettings(Model):
    """The MSK cluster."""

    version: str = Field(
        pattern=r"^\d+\.\d+\.(x|\d+)(\.kraft)?$", description="Kafka version, as MSK names it."
    )
    instance_type: str = Field(pattern=r"^kafka\.", description="Instance type of a broker.")
    brokers: int = Field(ge=ZONES, description="Number of brokers, a multiple of the three zones.")
    volume_gib: int = Field(ge=1, le=16384, description="First size of a broker's volume, GiB.")
    volume_limit_gib: int = Field(ge=1, le=16384, description="Largest size of a broker's volume, GiB.")
    log_days: LogDays = Field(description="Retention of the brokers' logs, days.")

    @model_validator(mode="after")
    def _fits_the_zones(self) -> Self:
        if self.brokers % ZONES:
            raise ValueError(f"brokers: {self.brokers} is not a multiple of {ZONES}; use {ZONES}, 6, ...")
        if self.volume_limit_gib < self.volume_gib:
            raise ValueError("volume_limit_gib: is below volume_gib; raise it, as MSK never shrinks a volume")
        return self


class NodeGroup(Model):
    """A pool of nodes: a managed node group in each zone."""

    instance_types: list[str] = Field(min_length=1, description="Instance types, the preferred one first.")
    minimum: int = Field(ge=0, description="Smallest number of nodes over all zones.")
    maximum: int = Field(ge=1, description="Largest number of nodes over all zones.")
    disk_gib: int = Field(default=50, ge=20, description="Size of a node's volume, GiB.")

    @model_validator(mode="after")
    def _minimum_is_least(self) -> Self:
        if self.minimum > self.maximum:
            raise ValueError(f"minimum: {self.minimum} is above maximum {self.maximum}; lower it")
        return self

    @model_validator(mode="after")
    def _same_in_each_zone(self) -> Self:
        for field in ("minimum", "maximum"):
            if getattr(self, field) % ZONES:
                raise ValueError(
                    f"{field}: {getattr(self, field)} is not a multiple of {ZONES}, but each zone has a node "
                    "group of its own; use 0, 3, 6, ..."
                )
        return self

    @model_validator(mode="after")
    def _one_processor(self) -> Self:
        if len({bool(_GRAVITON.match(each)) for each in self.instance_types}) > 1:
            raise ValueError(
                f"instance_types: {', '.join(self.instance_types)} mix Graviton with other processors, but a "
                "node group has one image; use types of one kind"
            )
        return self

    @property
    def is_graviton(self) -> bool:
        """Whether its instances have AWS's ARM processor."""
        return bool(_GRAVITON.match(self.instance_types[0]))


class ChartVersions(Model):
    """Versions of the add-ons' Helm charts."""

    keda: str
    cluster_autoscaler: str
    metrics_server: str
    load_balancer_controller: str
    fluent_bit: str
    prometheus: str


class AddonVersions(Model):
    """Versions of EKS's managed add-ons, for the cluster's Kubernetes version."""

    vpc_cni: AddonVersion
    kube_proxy: AddonVersion
    coredns: AddonVersion
    aws_ebs_csi_driver: AddonVersion
    eks_pod_identity_agent: AddonVersion

    def by_name(self) -> dict[str, str]:
        """The versions by the add-ons' names in EKS."""
        return {field.replace("_", "-"): version for field, version in self.model_dump().items()}


class ClusterSettings(Model):
    """The EKS cluster."""

    version: str = Field(pattern=r"^1\.\d+$", description="Kubernetes version.")
    public_access: list[IPv4Network] = Field(
        default=[],
        description="Public address ranges that reach the API, for the first deployment only: while there "
        "are any, the other side's deployer gets the API's public addresses and cannot reach it. Empty: no "
        "public endpoint.",
    )
    administrators: list[IamRole] = Field(
        default=[],
        description="ARNs of IAM roles with all permissions in Kubernetes beside the deploy role, such as "
        "that of the person who deploys first.",
    )
    log_days: LogDays = Field(description="Retention of the logs of the control plane and of the pods, days.")
    services: NodeGroup = Field(description="On demand: collect, retry, observe, add-ons.")
    drivers: NodeGroup = Field(description="On demand: Spark master and drivers.")
    workers: NodeGroup = Field(description="Spot: Spark workers.")
    spare_workers: NodeGroup = Field(description="On demand: Spark workers while there is no spot capacity.")
    node_release: str = Field(
        pattern=r"^\d+\.\d+\.\d+-\d{8}$",
        description="Release of the nodes' Amazon Linux image, such as 1.35.7-20260903.",
    )
    addons: AddonVersions
    charts: ChartVersions

    @model_validator(mode="after")
    def _parts_are_of_the_version(self) -> Self:
        if not self.node_release.startswith(f"{self.version}."):
            raise ValueError(
                f"node_release: {self.node_release} is not of Kubernetes {self.version}; `make outdated` "
                "prints the newest one"
            )
        if not self.addons.kube_proxy.startswith(f"v{self.version}."):
            raise ValueError(
                f"addons.kube_proxy: {self.addons.kube_proxy} is not of Kubernetes {self.version}; "
                "`make outdated` prints the newest one"
            )
        return self

    @model_validator(mode="after")
    def _spot_can_choose(self) -> Self:
        if len(self.workers.instance_types) < _SPOT_TYPES:
            raise ValueError(
                f"workers.instance_types: {len(self.workers.instance_types)} types; name {_SPOT_TYPES} or "
                "more, as spot capacity of a few is often exhausted"
            )
        return self

    @field_validator("public_access")
    @classmethod
    def _not_everyone(cls, ranges: list[IPv4Network]) -> list[IPv4Network]:
        if any(each.prefixlen < 8 for each in ranges):
            raise ValueError("opens the API to the internet; name your own ranges, such as 203.0.113.0/24")
        return ranges
