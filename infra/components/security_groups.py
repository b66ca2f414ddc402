"""Who may open a connection to whom inside a side."""

from collections.abc import Sequence
from ipaddress import IPv4Network

from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from cdktf_cdktf_provider_aws.vpc_security_group_egress_rule import VpcSecurityGroupEgressRule
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import VpcSecurityGroupIngressRule
from constructs import Construct

from infra.components.ports import BROKER_METRICS_PORTS, BROKER_PORT, COLLECT_PORT, HTTPS_PORT


class SecurityGroups(Construct):
    """The side's groups and, in one place, every connection that is allowed between them.

    The nodes also have the group EKS makes, which holds the connections among nodes and with the control
    plane, and the nodes' way out.
    """

    def __init__(
        self, scope: Construct, name: str, *, prefix: str, vpc_id: str, client_ranges: Sequence[IPv4Network]
    ) -> None:
        """Declare the groups and their rules.

        Args:
            scope: The stack.
            name: Name of this part in the stack.
            prefix: What names in AWS start with.
            vpc_id: Where they are.
            client_ranges: From where clients reach the load balancer.
        """
        super().__init__(scope, name)
        self._prefix, self._vpc_id = prefix, vpc_id
        self.nodes = self._group("nodes", "Nodes of the EKS cluster")
        self.brokers = self._group("brokers", "Kafka brokers")
        self.endpoints = self._group("endpoints", "Interface endpoints of AWS services")
        self.balancer = self._group("balancer", "Load balancer of collect")
        self._admit(self.brokers, self.nodes, BROKER_PORT, "kafka")
        for port in BROKER_METRICS_PORTS:
            self._admit(self.brokers, self.nodes, port, f"metrics-{port}")
        self._admit(self.endpoints, self.nodes, HTTPS_PORT, "aws")
        self._admit(self.nodes, self.balancer, COLLECT_PORT, "collect")
        self._let_out(self.balancer, self.nodes, COLLECT_PORT, "collect-out")
        for position, block in enumerate(client_ranges):
            self._admit_range(block, position)

    def _group(self, purpose: str, description: str) -> SecurityGroup:
        name = f"{self._prefix}-{purpose}"
        return SecurityGroup(
            self, purpose, name=name, description=description, vpc_id=self._vpc_id, tags={"Name": name}
        )

    def _admit(self, target: SecurityGroup, source: SecurityGroup, port: int, part: str) -> None:
        VpcSecurityGroupIngressRule(
            self,
            part,
            security_group_id=target.id,
            referenced_security_group_id=source.id,
            ip_protocol="tcp",
            from_port=port,
            to_port=port,
            description=part,
        )

    def _let_out(self, source: SecurityGroup, target: SecurityGroup, port: int, part: str) -> None:
        VpcSecurityGroupEgressRule(
            self,
            part,
            security_group_id=source.id,
            referenced_security_group_id=target.id,
            ip_protocol="tcp",
            from_port=port,
            to_port=port,
            description=part,
        )

    def _admit_range(self, block: IPv4Network, position: int) -> None:
        VpcSecurityGroupIngressRule(
            self,
            f"clients-{position}",
            security_group_id=self.balancer.id,
            cidr_ipv4=str(block),
            ip_protocol="tcp",
            from_port=HTTPS_PORT,
            to_port=HTTPS_PORT,
            description="clients",
        )
