"""The way between the sides' networks: the deployer's, to the other side's Kubernetes and Kafka."""

from dataclasses import dataclass

from cdktf import ITerraformDependable
from cdktf_cdktf_provider_aws.data_aws_eks_cluster import DataAwsEksCluster
from cdktf_cdktf_provider_aws.data_aws_route_table import DataAwsRouteTable
from cdktf_cdktf_provider_aws.data_aws_security_group import DataAwsSecurityGroup
from cdktf_cdktf_provider_aws.data_aws_vpc import DataAwsVpc
from cdktf_cdktf_provider_aws.route import Route
from cdktf_cdktf_provider_aws.vpc_peering_connection import VpcPeeringConnection
from cdktf_cdktf_provider_aws.vpc_security_group_ingress_rule import VpcSecurityGroupIngressRule
from constructs import Construct

from infra.components.network.security_groups import BROKER_PORT, HTTPS_PORT, tcp
from infra.components.network.subnet_plan import plan_zones
from infra.config import Environment, TwinSettings
from infra.naming import Side


@dataclass(frozen=True, kw_only=True)
class _End:
    """The parts of a side that the way needs, found by name."""

    twin: TwinSettings
    vpc_id: str
    tables: dict[str, str]
    nodes: str
    brokers: str
    cluster: str


class Peering(Construct):
    """A peering connection of both networks, its routes, and what either side admits of the other's nodes."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare connection, routes and rules.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        blue, green = (self._found(environment, side) for side in Side)
        connection = VpcPeeringConnection(
            self,
            "connection",
            vpc_id=blue.vpc_id,
            peer_vpc_id=green.vpc_id,
            auto_accept=True,
            tags={"Name": f"{environment.names.prefix}-sides"},
        )
        for source, target in ((blue, green), (green, blue)):
            self._lead(source, target, connection)
            self._admit(source, target, connection)

    def _found(self, environment: Environment, side: Side) -> _End:
        twin = environment.twin(side)
        prefix = twin.names.prefix
        vpc_id = str(DataAwsVpc(self, f"{side}-vpc", tags={"Name": prefix}).id)
        tables = {
            zone.letter: str(
                DataAwsRouteTable(
                    self,
                    f"{side}-table-{zone.letter}",
                    vpc_id=vpc_id,
                    tags={"Name": f"{prefix}-private-{zone.letter}"},
                ).id
            )
            for zone in plan_zones(twin.cidr, region=environment.region)
        }
        nodes, brokers = (
            str(DataAwsSecurityGroup(self, f"{side}-{each}", name=f"{prefix}-{each}", vpc_id=vpc_id).id)
            for each in ("nodes", "brokers")
        )
        found = DataAwsEksCluster(self, f"{side}-cluster", name=prefix)
        cluster = str(found.vpc_config.get(0).cluster_security_group_id)
        return _End(twin=twin, vpc_id=vpc_id, tables=tables, nodes=nodes, brokers=brokers, cluster=cluster)

    def _lead(self, source: _End, target: _End, connection: VpcPeeringConnection) -> None:
        for letter, table in source.tables.items():
            Route(
                self,
                f"{source.twin.side}-route-{letter}",
                route_table_id=table,
                destination_cidr_block=str(target.twin.cidr),
                vpc_peering_connection_id=connection.id,
            )

    def _admit(self, source: _End, target: _End, connection: ITerraformDependable) -> None:
        """Nodes, as pods have the groups of theirs; network policies admit the deployer's pods alone."""
        for what, group, port in (
            ("api", target.cluster, HTTPS_PORT),
            ("brokers", target.brokers, BROKER_PORT),
        ):
            name = f"{target.twin.side}-{what}-from-{source.twin.side}"
            VpcSecurityGroupIngressRule(
                self,
                name,
                security_group_id=group,
                referenced_security_group_id=source.nodes,
                depends_on=[connection],
                **tcp(port, name),
            )
