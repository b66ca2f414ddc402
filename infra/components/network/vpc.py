"""A side's VPC: in each of three zones a private subnet for nodes and a public one for a NAT gateway."""

from ipaddress import IPv4Network

from cdktf_cdktf_provider_aws.default_security_group import DefaultSecurityGroup
from cdktf_cdktf_provider_aws.eip import Eip
from cdktf_cdktf_provider_aws.internet_gateway import InternetGateway
from cdktf_cdktf_provider_aws.nat_gateway import NatGateway
from cdktf_cdktf_provider_aws.route import Route
from cdktf_cdktf_provider_aws.route_table import RouteTable
from cdktf_cdktf_provider_aws.route_table_association import RouteTableAssociation
from cdktf_cdktf_provider_aws.subnet import Subnet
from cdktf_cdktf_provider_aws.vpc import Vpc
from constructs import Construct

from infra.components.network.subnet_plan import ZonePlan, plan_zones
from infra.sizes import NetworkSettings

_ANYWHERE = "0.0.0.0/0"


class Network(Construct):
    """VPC, subnets and routes."""

    def __init__(  # noqa: PLR0913 -- each a property of the network
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        cidr: IPv4Network,
        region: str,
        settings: NetworkSettings,
    ) -> None:
        """Declare the network.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the names in AWS.
            cidr: Address range of the VPC.
            region: AWS region.
            settings: Number of NAT gateways.
        """
        super().__init__(scope, name)
        self._prefix = prefix
        self._vpc = Vpc(
            self,
            "vpc",
            cidr_block=str(cidr),
            enable_dns_support=True,
            enable_dns_hostnames=True,  # private DNS names of interface endpoints need it
            tags={"Name": prefix},
        )
        # Every VPC has one, and resources that name no group get it. Without rules it allows nothing.
        DefaultSecurityGroup(self, "default", vpc_id=self._vpc.id, tags={"Name": f"{prefix}-unused"})
        zones = plan_zones(cidr, region=region)
        self.gateway = InternetGateway(self, "internet", vpc_id=self._vpc.id, tags={"Name": prefix})
        """Resources with public addresses in the public subnets can only be created after it."""

        public = self._public_subnets(zones, self.gateway)
        self._public_subnets_made = [subnet for _, subnet in public]
        nats = [self._nat(zone, subnet, self.gateway) for zone, subnet in public[: settings.nat_gateways]]
        self.nat_addresses = [str(nat.public_ip) for nat in nats]
        self.zones = [zone.zone for zone in zones]
        self._private_tables: list[RouteTable] = []
        self._private_subnets = [
            self._private_subnet(zone, nats[position % len(nats)]) for position, zone in enumerate(zones)
        ]

    @property
    def vpc_id(self) -> str:
        """Id of the VPC."""
        return str(self._vpc.id)

    @property
    def subnet_ids(self) -> list[str]:
        """Ids of the private subnets, one a zone."""
        return [subnet.id for subnet in self._private_subnets]

    @property
    def subnet_arns(self) -> list[str]:
        """ARNs of the private subnets."""
        return [subnet.arn for subnet in self._private_subnets]

    @property
    def public_subnet_ids(self) -> list[str]:
        """Ids of the public subnets, one a zone."""
        return [subnet.id for subnet in self._public_subnets_made]

    @property
    def route_table_ids(self) -> list[str]:
        """Ids of the private subnets' route tables."""
        return [table.id for table in self._private_tables]

    def _public_subnets(
        self, zones: tuple[ZonePlan, ...], gateway: InternetGateway
    ) -> list[tuple[ZonePlan, Subnet]]:
        table = self._table("public")
        Route(
            self,
            "public-out",
            route_table_id=table.id,
            destination_cidr_block=_ANYWHERE,
            gateway_id=gateway.id,
        )
        return [(zone, self._subnet("public", zone, zone.public, table)) for zone in zones]

    def _private_subnet(self, zone: ZonePlan, nat: NatGateway) -> Subnet:
        table = self._table(f"private-{zone.letter}")
        self._private_tables.append(table)
        Route(
            self,
            f"private-{zone.letter}-out",
            route_table_id=table.id,
            destination_cidr_block=_ANYWHERE,
            nat_gateway_id=nat.id,
        )
        return self._subnet("private", zone, zone.private, table)

    def _subnet(self, kind: str, zone: ZonePlan, block: IPv4Network, table: RouteTable) -> Subnet:
        name = f"{kind}-{zone.letter}"
        subnet = Subnet(
            self,
            name,
            vpc_id=self._vpc.id,
            availability_zone=zone.zone,
            cidr_block=str(block),
            map_public_ip_on_launch=False,
            tags={"Name": f"{self._prefix}-{name}"},
        )
        RouteTableAssociation(self, f"{name}-routes", subnet_id=subnet.id, route_table_id=table.id)
        return subnet

    def _table(self, name: str) -> RouteTable:
        return RouteTable(self, f"{name}-table", vpc_id=self._vpc.id, tags={"Name": f"{self._prefix}-{name}"})

    def _nat(self, zone: ZonePlan, subnet: Subnet, gateway: InternetGateway) -> NatGateway:
        tags = {"Name": f"{self._prefix}-{zone.letter}"}
        address = Eip(self, f"nat-{zone.letter}-address", domain="vpc", tags=tags)
        return NatGateway(
            self,
            f"nat-{zone.letter}",
            subnet_id=subnet.id,
            allocation_id=address.allocation_id,
            # Creation fails while the VPC has no internet gateway.
            depends_on=[gateway],
            tags=tags,
        )
