"""The side's ingress: a load balancer that terminates TLS and distributes requests over collect."""

from collections.abc import Sequence

from cdktf_cdktf_provider_aws.data_aws_acm_certificate import DataAwsAcmCertificate
from cdktf_cdktf_provider_aws.internet_gateway import InternetGateway
from cdktf_cdktf_provider_aws.lb import Lb
from cdktf_cdktf_provider_aws.lb_listener import LbListener, LbListenerDefaultAction
from cdktf_cdktf_provider_aws.lb_target_group import LbTargetGroup, LbTargetGroupHealthCheck
from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from constructs import Construct

from infra.components.network.security_groups import HTTPS_PORT, POD_PORT
from infra.exposure import Exposure

TLS_POLICY = "ELBSecurityPolicy-TLS13-1-2-2021-06"
_DRAIN_SECONDS = 120
"""How long connections to a pod that ends are kept: longer than the pod itself may take.

It goes on with requests for 60 s, since new connections still come meanwhile, then has 25 s for those in
flight and 10 s for queued records, and is killed after 110 s (infra/workloads/base/collect/deployment.yaml).
If the load balancer cut connections earlier, events that were taken would go unanswered, and be sent again.
"""


class Ingress(Construct):
    """Load balancer, listener and the target group that a TargetGroupBinding in the cluster fills."""

    def __init__(  # noqa: PLR0913 -- each a property of the balancer
        self,
        scope: Construct,
        name: str,
        *,
        balancer_name: str,
        domain: str,
        vpc_id: str,
        subnet_ids: Sequence[str],
        gateway: InternetGateway,
        security_group: SecurityGroup,
        exposure: Exposure,
        deletion_protection: bool,
    ) -> None:
        """Declare the load balancer.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            balancer_name: Name of the load balancer and of its target group.
            domain: Host name that clients call; foundation declares its certificate.
            vpc_id: VPC of the load balancer.
            subnet_ids: Subnets, one a zone: public ones for an exposure to the internet.
            gateway: Internet gateway of the VPC, without which AWS refuses public addresses.
            security_group: Security group of the load balancer.
            exposure: Whether it has public addresses.
            deletion_protection: Whether AWS refuses to delete it.
        """
        super().__init__(scope, name)
        internal = exposure is Exposure.INTERNAL
        self._balancer = Lb(
            self,
            "balancer",
            name=balancer_name,
            load_balancer_type="network",
            internal=internal,
            subnets=list(subnet_ids),
            security_groups=[security_group.id],
            # With few pods, collect may run in one zone only.
            enable_cross_zone_load_balancing=True,
            # Otherwise the group's rules would stop what comes through PrivateLink, from addresses of the
            # customer's VPC; the service itself admits only connections that were accepted.
            enforce_security_group_inbound_rules_on_private_link_traffic="off" if internal else None,
            enable_deletion_protection=deletion_protection,
            depends_on=[gateway],
        )
        self._targets = _targets(self, balancer_name, vpc_id)
        LbListener(
            self,
            "listener",
            load_balancer_arn=self._balancer.arn,
            port=HTTPS_PORT,
            protocol="TLS",
            ssl_policy=TLS_POLICY,
            certificate_arn=certificate_arn_of(self, domain),
            default_action=[LbListenerDefaultAction(type="forward", target_group_arn=self._targets.arn)],
        )

    @property
    def balancer_arn(self) -> str:
        """ARN of the load balancer."""
        return str(self._balancer.arn)

    @property
    def balancer_suffix(self) -> str:
        """End of the load balancer's ARN, by which CloudWatch knows it."""
        return str(self._balancer.arn_suffix)

    @property
    def target_group_suffix(self) -> str:
        """End of the target group's ARN, by which CloudWatch knows it."""
        return str(self._targets.arn_suffix)

    @property
    def target_group_arn(self) -> str:
        """ARN of the target group."""
        return str(self._targets.arn)


def certificate_arn_of(scope: Construct, domain: str) -> str:
    """The newest certificate that is issued for a domain; declares its look-up below `scope`."""
    found = DataAwsAcmCertificate(scope, "certificate", domain=domain, statuses=["ISSUED"], most_recent=True)
    return str(found.arn)


def _targets(scope: Construct, name: str, vpc_id: str) -> LbTargetGroup:
    return LbTargetGroup(
        scope,
        "targets",
        name=name,
        vpc_id=vpc_id,
        target_type="ip",
        protocol="TCP",
        port=POD_PORT,
        # Pods see the load balancer's address, so that one rule between security groups is enough.
        preserve_client_ip="false",
        deregistration_delay=str(_DRAIN_SECONDS),
        # What is still open then leads to a pod that is gone.
        connection_termination=True,
        health_check=LbTargetGroupHealthCheck(
            protocol="HTTP",
            path="/readyz",
            matcher="200",
            interval=10,
            timeout=5,
            healthy_threshold=2,
            unhealthy_threshold=2,
        ),
    )
