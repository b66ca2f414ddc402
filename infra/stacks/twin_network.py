"""The network of a side: VPC, security groups, endpoints of AWS services and flow logs."""

from dataclasses import dataclass

from infra.components.network.flow_logs import FlowLogs
from infra.components.network.security_groups import Clients, SecurityGroups
from infra.components.network.vpc import Network
from infra.components.network.vpc_endpoints import VpcEndpoints
from infra.exposure import Exposure
from infra.stacks.twin_context import TwinContext


@dataclass(frozen=True, kw_only=True)
class TwinNetwork:
    """A side's VPC and the security groups in it."""

    vpc: Network
    groups: SecurityGroups

    def subnet_ids(self, exposure: Exposure) -> list[str]:
        """Subnets of a load balancer, one a zone."""
        return self.vpc.public_subnet_ids if exposure is Exposure.INTERNET else self.vpc.subnet_ids


def declare_network(context: TwinContext) -> TwinNetwork:
    """Declare the network with its endpoints and flow logs."""
    settings = context.environment.network
    vpc = Network(
        context.stack,
        "network",
        prefix=context.prefix,
        cidr=context.twin.cidr,
        region=context.environment.region,
        settings=settings,
    )
    groups = SecurityGroups(
        context.stack,
        "security",
        prefix=context.prefix,
        vpc_id=vpc.vpc_id,
        events=Clients(exposure=context.environment.exposure, ranges=settings.client_ranges),
        management=Clients(
            exposure=context.environment.management.exposure,
            ranges=context.environment.management.client_ranges,
        ),
        nat_addresses=vpc.nat_addresses,
    )
    network = TwinNetwork(vpc=vpc, groups=groups)
    _declare_services(context, network)
    return network


def _declare_services(context: TwinContext, network: TwinNetwork) -> None:
    settings = context.environment.network
    VpcEndpoints(
        context.stack,
        "endpoints",
        prefix=context.prefix,
        region=context.environment.region,
        network=network.vpc,
        security_group=network.groups.endpoints,
        interfaces=settings.interface_endpoints,
    )
    FlowLogs(
        context.stack,
        "flows",
        prefix=context.prefix,
        account=context.environment.account,
        boundary_arn=context.boundary_arn,
        vpc_id=network.vpc.vpc_id,
        key_arn=context.keys.logs,
        days=settings.flow_log_days,
    )
