"""The entrances of a side: the load balancer of collect, and that of the management API and the console."""

from dataclasses import dataclass

from infra.components.network.alarms import BalancerAlarms, ManagementAlarms
from infra.components.network.ingress import Ingress
from infra.components.network.management_ingress import ManagementIngress
from infra.components.network.privatelink import PrivateLink
from infra.exposure import Exposure
from infra.stacks.twin_context import TwinContext
from infra.stacks.twin_network import TwinNetwork


@dataclass(frozen=True, kw_only=True)
class Entrances:
    """A side's load balancers; pods register with their target groups."""

    target_group_arns: list[str]


def declare_entrances(context: TwinContext, network: TwinNetwork) -> Entrances:
    """Declare both load balancers with their alarms."""
    events = _declare_events(context, network)
    management = _declare_management(context, network)
    return Entrances(target_group_arns=[events.target_group_arn, *management.target_group_arns])


def _declare_events(context: TwinContext, network: TwinNetwork) -> Ingress:
    environment, names = context.environment, context.twin.names
    ingress = Ingress(
        context.stack,
        "ingress",
        balancer_name=names.load_balancer,
        domain=environment.events_host,
        vpc_id=network.vpc.vpc_id,
        subnet_ids=network.subnet_ids(environment.exposure),
        gateway=network.vpc.gateway,
        security_group=network.groups.balancer,
        exposure=environment.exposure,
        deletion_protection=environment.protected,
    )
    BalancerAlarms(
        context.stack,
        "ingress-alarms",
        prefix=context.prefix,
        balancer=ingress.balancer_suffix,
        targets=ingress.target_group_suffix,
        topic_arn=context.alarm_topic_arn,
    )
    if environment.exposure is Exposure.INTERNAL:
        PrivateLink(
            context.stack,
            "privatelink",
            service_name=names.load_balancer,
            balancer_arn=ingress.balancer_arn,
            principals=environment.privatelink_principals,
            host=environment.side_host(context.twin.side),
            domain=environment.domain,
        )
    return ingress


def _declare_management(context: TwinContext, network: TwinNetwork) -> ManagementIngress:
    environment, names = context.environment, context.twin.names
    exposure = environment.management.exposure
    ingress = ManagementIngress(
        context.stack,
        "management",
        balancer_name=names.management_balancer,
        services={names.api_targets: environment.api_host, names.console_targets: environment.console_host},
        certificate_domain=environment.api_host,
        vpc_id=network.vpc.vpc_id,
        subnet_ids=network.subnet_ids(exposure),
        gateway=network.vpc.gateway,
        security_group=network.groups.management,
        exposure=exposure,
        deletion_protection=environment.protected,
    )
    ManagementAlarms(
        context.stack,
        "management-alarms",
        balancer=ingress.balancer_suffix,
        targets=ingress.target_group_suffixes,
        topic_arn=context.alarm_topic_arn,
    )
    return ingress
