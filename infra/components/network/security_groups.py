"""Security groups of a side: every TCP connection that is allowed between its parts."""

from collections.abc import Sequence
from dataclasses import dataclass
from ipaddress import IPv4Network
from typing import TypedDict

from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.vpc_security_group_egress_rule import VpcSecurityGroupEgressRule
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import VpcSecurityGroupIngressRule
from constructs import Construct

from infra.exposure import Exposure

HTTPS_PORT = 443
POD_PORT = 8080
"""At which collect, API and console listen in their pods."""

BROKER_PORT = 9098
"""TLS with IAM authentication; MSK opens it when IAM is the only authentication."""

_BROKER_METRICS_PORTS = (11001, 11002)
"""JMX exporter and node exporter of MSK's open monitoring."""


@dataclass(frozen=True, kw_only=True)
class Clients:
    """The clients that may reach a load balancer.

    Attributes:
        exposure: Whether it has public addresses.
        ranges: Address ranges of its clients.
    """

    exposure: Exposure
    ranges: Sequence[IPv4Network]


class SecurityGroups(Construct):
    """The side's security groups and the rules between them.

    Nodes also have the group that EKS creates: it allows connections among nodes, with the control plane, and
    from nodes to the internet.
    """

    def __init__(  # noqa: PLR0913 -- each a property of the groups
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        vpc_id: str,
        events: Clients,
        management: Clients,
        nat_addresses: Sequence[str],
    ) -> None:
        """Declare the groups and their rules.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            vpc_id: VPC of the groups.
            events: Clients of collect's load balancer.
            management: Clients of the load balancer of API and console.
            nat_addresses: Public addresses of the VPC, as which the runner reaches a public load balancer.
        """
        super().__init__(scope, name)
        self._prefix, self._vpc_id = prefix, vpc_id
        self.nodes = self._group("nodes", "Nodes of the EKS cluster")
        self.brokers = self._group("brokers", "Kafka brokers")
        self.endpoints = self._group("endpoints", "Interface endpoints of AWS services")
        self.balancer = self._group("balancer", "Load balancer of collect")
        self.management = self._group("management", "Load balancer of API and console")
        self.runner = self._group("runner", "Runner of GitHub jobs")  # EC2 refuses apostrophes
        self._allow("kafka", source=self.nodes, target=self.brokers, port=BROKER_PORT)
        for port in _BROKER_METRICS_PORTS:
            self._allow(f"metrics-{port}", source=self.nodes, target=self.brokers, port=port)
        self._allow("aws", source=self.nodes, target=self.endpoints, port=HTTPS_PORT)
        self._lead_to_pods("collect", self.balancer)
        self._lead_to_pods("management-pods", self.management)
        self._admit("clients", self.balancer, events)
        self._admit("people", self.management, management)
        self._connect_runner(nat_addresses if events.exposure is Exposure.INTERNET else [])

    def open_api_to_runner(self, cluster_group_id: str) -> None:
        """Let the runner, and nothing else outside the cluster, reach the Kubernetes API.

        Args:
            cluster_group_id: The group that EKS creates, which the API's network interfaces have.
        """
        VpcSecurityGroupIngressRule(
            self,
            "api-from-runner",
            security_group_id=cluster_group_id,
            referenced_security_group_id=self.runner.id,
            **tcp(HTTPS_PORT, "api-from-runner"),
        )

    def _lead_to_pods(self, name: str, balancer: SecurityGroup) -> None:
        self._allow(name, source=balancer, target=self.nodes, port=POD_PORT)
        VpcSecurityGroupEgressRule(
            self,
            f"{name}-out",
            security_group_id=balancer.id,
            referenced_security_group_id=self.nodes.id,
            **tcp(POD_PORT, f"{name}-out"),
        )

    def _admit(self, name: str, balancer: SecurityGroup, clients: Clients) -> None:
        for position, block in enumerate(clients.ranges):
            VpcSecurityGroupIngressRule(
                self,
                f"{name}-{position}",
                security_group_id=balancer.id,
                cidr_ipv4=str(block),
                **tcp(HTTPS_PORT, name),
            )

    def _connect_runner(self, nat_addresses: Sequence[str]) -> None:
        """The runner verifies the side through its load balancer, and reaches AWS and GitHub."""
        self._allow("aws-from-runner", source=self.runner, target=self.endpoints, port=HTTPS_PORT)
        self._allow("collect-from-runner", source=self.runner, target=self.balancer, port=HTTPS_PORT)
        for position, address in enumerate(nat_addresses):
            # A load balancer with public addresses sees the runner behind the NAT gateway.
            VpcSecurityGroupIngressRule(
                self,
                f"runner-{position}",
                security_group_id=self.balancer.id,
                cidr_ipv4=f"{address}/32",
                **tcp(HTTPS_PORT, "runner"),
            )
        VpcSecurityGroupEgressRule(
            self,
            "runner-out",
            security_group_id=self.runner.id,
            cidr_ipv4="0.0.0.0/0",
            **tcp(HTTPS_PORT, "runner-out"),
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
            **tcp(port, name),
        )


class TcpPort(TypedDict):
    """Fields of a rule for one port."""

    ip_protocol: str
    from_port: int
    to_port: int
    description: str


def tcp(port: int, description: str) -> TcpPort:
    """Fields of a rule for one TCP port."""
    return {"ip_protocol": "tcp", "from_port": port, "to_port": port, "description": description}
