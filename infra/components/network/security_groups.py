"""Security groups of a side: every TCP connection that is allowed between its parts."""

from collections.abc import Sequence
from ipaddress import IPv4Network
from typing import TypedDict

from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.vpc_security_group_egress_rule import VpcSecurityGroupEgressRule
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import VpcSecurityGroupIngressRule
from constructs import Construct

HTTPS_PORT = 443
COLLECT_PORT = 8080
_BROKER_PORT = 9098
"""TLS with IAM authentication; MSK opens it when IAM is the only authentication."""

_BROKER_METRICS_PORTS = (11001, 11002)
"""JMX exporter and node exporter of MSK's open monitoring."""


class SecurityGroups(Construct):
    """The side's security groups and the rules between them.

    Nodes also have the group that EKS creates: it allows connections among nodes, with the control plane, and
    from nodes to the internet.
    """

    def __init__(
        self, scope: Construct, name: str, *, prefix: str, vpc_id: str, client_ranges: Sequence[IPv4Network]
    ) -> None:
        """Declare the groups and their rules.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            vpc_id: VPC of the groups.
            client_ranges: Address ranges from which clients reach the load balancer.
        """
        super().__init__(scope, name)
        self._prefix, self._vpc_id = prefix, vpc_id
        self.nodes = self._group("nodes", "Nodes of the EKS cluster")
        self.brokers = self._group("brokers", "Kafka brokers")
        self.endpoints = self._group("endpoints", "Interface endpoints of AWS services")
        self.balancer = self._group("balancer", "Load balancer of collect")
        self._allow("kafka", source=self.nodes, target=self.brokers, port=_BROKER_PORT)
        for port in _BROKER_METRICS_PORTS:
            self._allow(f"metrics-{port}", source=self.nodes, target=self.brokers, port=port)
        self._allow("aws", source=self.nodes, target=self.endpoints, port=HTTPS_PORT)
        self._allow("collect", source=self.balancer, target=self.nodes, port=COLLECT_PORT)
        VpcSecurityGroupEgressRule(
            self,
            "collect-out",
            security_group_id=self.balancer.id,
            referenced_security_group_id=self.nodes.id,
            **_tcp(COLLECT_PORT, "collect-out"),
        )
        for position, block in enumerate(client_ranges):
            VpcSecurityGroupIngressRule(
                self,
                f"clients-{position}",
                security_group_id=self.balancer.id,
                cidr_ipv4=str(block),
                **_tcp(HTTPS_PORT, "clients"),
            )

    def _group(self, purpose: str, description: str) -> SecurityGroup:
        name = f"{self._prefix}-{purpose}"
        return SecurityGroup(
            self, purpose, name=name, description=description, vpc_id=self._vpc_id, tags={"Name": name}
        )

    def _allow(self, name: str, *, source: SecurityGroup, target: SecurityGroup, port: int) -> None:
        VpcSecurityGroupIngressRule(
            self,
            name,
            security_group_id=target.id,
            referenced_security_group_id=source.id,
            **_tcp(port, name),
        )


class _TcpPort(TypedDict):
    ip_protocol: str
    from_port: int
    to_port: int
    description: str


def _tcp(port: int, description: str) -> _TcpPort:
    return {"ip_protocol": "tcp", "from_port": port, "to_port": port, "description": description}
