"""A cluster's Kubernetes API, as far as AWS decides on network access and rights."""

from collections.abc import Collection
from ipaddress import IPv4Address, IPv4Network
from typing import Any

from moto.ec2.models import ec2_backends

from tests.deploy.aws.documents import Place
from tests.deploy.aws.eks.parts import Parts
from tests.deploy.aws.rest import Document

_PORT = 443


class UnreachableError(Exception):
    """No rule admits the caller: a client would wait until its timeout."""


class UnauthorizedError(Exception):
    """No access entry names the caller."""


class ForbiddenError(Exception):
    """The caller's access entry has neither a policy nor a group."""


class KubernetesApi:
    """The API of each cluster."""

    def __init__(self, place: Place, parts: Parts) -> None:
        self._place = place
        self._parts = parts

    def call_from_vpc(self, cluster: str, *, groups: Collection[str], principal: str) -> None:
        """Call from an interface in the cluster's VPC, as Helm does with a token of `aws eks get-token`.

        Args:
            cluster: Name of the cluster.
            groups: Security groups of the caller's interface.
            principal: ARN of the caller's IAM role.

        Raises:
            UnreachableError: The cluster's security group admits none of the caller's.
            UnauthorizedError: The principal has no access entry.
            ForbiddenError: Its access entry has neither a policy nor a group of Kubernetes.
        """
        network = self._network(cluster)
        target = network["clusterSecurityGroupId"]
        if not (network.get("endpointPrivateAccess") and self._admits(target, groups)):
            raise UnreachableError(f"{cluster}: {target} admits none of {sorted(groups)} to port {_PORT}")
        self._authorize(cluster, principal)

    def call_from_internet(self, cluster: str, *, address: str, principal: str) -> None:
        """Call from outside the VPC.

        Args:
            cluster: Name of the cluster.
            address: Public address of the caller.
            principal: ARN of the caller's IAM role.

        Raises:
            UnreachableError: The API has no public endpoint, or none for this address.
            UnauthorizedError: The principal has no access entry.
            ForbiddenError: Its access entry has neither a policy nor a group of Kubernetes.
        """
        network = self._network(cluster)
        ranges = [IPv4Network(each) for each in network.get("publicAccessCidrs") or []]
        open_to = network.get("endpointPublicAccess") and any(IPv4Address(address) in each for each in ranges)
        if not open_to:
            raise UnreachableError(f"{cluster}: no public endpoint for {address}")
        self._authorize(cluster, principal)

    def _network(self, cluster: str) -> Document:
        found: Document = self._parts.clusters.get((cluster,))["resourcesVpcConfig"]
        return found

    def _admits(self, target: str, groups: Collection[str]) -> bool:
        backend = ec2_backends[self._place.account][self._place.region]
        group: Any = backend.get_security_group_from_id(target)
        sources = {
            rule.source_group["GroupId"]
            for rule in group.ingress_rules
            if rule.source_group and int(rule.from_port) <= _PORT <= int(rule.to_port)
        }
        return target in groups or bool(sources & set(groups))

    def _authorize(self, cluster: str, principal: str) -> None:
        entries = {each["principalArn"]: each for each in self._parts.access_entries.of(cluster)}
        if principal not in entries:
            raise UnauthorizedError(f"{cluster}: {principal} has no access entry")
        groups = entries[principal].get("kubernetesGroups")
        if not (groups or self._parts.access_policies.of(cluster, principal)):
            raise ForbiddenError(f"{cluster}: {principal} has no access policy and is of no group")
