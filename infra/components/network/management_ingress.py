"""The entrance of the management plane: a load balancer that terminates TLS for the API and the console."""

from collections.abc import Mapping, Sequence

from cdktf_cdktf_provider_aws.internet_gateway import InternetGateway
from cdktf_cdktf_provider_aws.lb import Lb
from cdktf_cdktf_provider_aws.lb_listener import (
    LbListener,
    LbListenerDefaultAction,
    LbListenerDefaultActionFixedResponse,
)
from cdktf_cdktf_provider_aws.lb_listener_rule import (
    LbListenerRule,
    LbListenerRuleAction,
    LbListenerRuleActionFixedResponse,
    LbListenerRuleCondition,
    LbListenerRuleConditionHostHeader,
    LbListenerRuleConditionPathPattern,
)
from cdktf_cdktf_provider_aws.lb_target_group import LbTargetGroup, LbTargetGroupHealthCheck
from cdktf_cdktf_provider_aws.security_group import SecurityGroup
from constructs import Construct

from infra.components.network.ingress import TLS_POLICY, certificate_arn_of
from infra.components.network.security_groups import HTTPS_PORT, POD_PORT
from infra.exposure import Exposure

_IDLE_SECONDS = 300
"""Open pages and live tails send something every few seconds; a proxied request may be silent for longer."""

_DRAIN_SECONDS = 15
_NOT_FOUND = {"content_type": "text/plain", "message_body": "not found", "status_code": "404"}


class ManagementIngress(Construct):
    """Load balancer, listener, and for each service a target group that its pods register with.

    An application load balancer, unlike collect's: one address serves both host names, and it can keep
    `/metrics`, which names no caller, from the outside.
    """

    def __init__(  # noqa: PLR0913 -- each a property of the balancer
        self,
        scope: Construct,
        name: str,
        *,
        balancer_name: str,
        services: Mapping[str, str],
        certificate_domain: str,
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
            balancer_name: Name of the load balancer.
            services: Host name of each service by the name of its target group.
            certificate_domain: First name of the certificate that foundation declares for all of the hosts.
            vpc_id: VPC of the load balancer.
            subnet_ids: Subnets, one a zone: public ones for an exposure to the internet.
            gateway: Internet gateway of the VPC, without which AWS refuses public addresses.
            security_group: Security group of the load balancer.
            exposure: Whether it has public addresses.
            deletion_protection: Whether AWS refuses to delete it.
        """
        super().__init__(scope, name)
        self._vpc_id = vpc_id
        self._balancer = Lb(
            self,
            "balancer",
            name=balancer_name,
            load_balancer_type="application",
            internal=exposure is Exposure.INTERNAL,
            subnets=list(subnet_ids),
            security_groups=[security_group.id],
            drop_invalid_header_fields=True,
            idle_timeout=_IDLE_SECONDS,
            enable_deletion_protection=deletion_protection,
            depends_on=[gateway],
        )
        listener = self._listener(certificate_domain)
        self._keep_metrics_inside(listener)
        self._targets = [
            self._service(listener, priority, target, host)
            for priority, (target, host) in enumerate(services.items(), start=10)
        ]

    @property
    def balancer_suffix(self) -> str:
        """End of the load balancer's ARN, by which CloudWatch knows it."""
        return str(self._balancer.arn_suffix)

    @property
    def target_group_suffixes(self) -> dict[str, str]:
        """End of each target group's ARN, by which CloudWatch knows it, by the group's name."""
        return {str(each.name_input): str(each.arn_suffix) for each in self._targets}

    @property
    def target_group_arns(self) -> list[str]:
        """ARNs of the target groups."""
        return [str(each.arn) for each in self._targets]

    def _listener(self, domain: str) -> LbListener:
        """Another host name than a service's is refused: such a request was not sent to us."""
        return LbListener(
            self,
            "listener",
            load_balancer_arn=self._balancer.arn,
            port=HTTPS_PORT,
            protocol="HTTPS",
            ssl_policy=TLS_POLICY,
            certificate_arn=certificate_arn_of(self, domain),
            default_action=[
                LbListenerDefaultAction(
                    type="fixed-response", fixed_response=LbListenerDefaultActionFixedResponse(**_NOT_FOUND)
                )
            ],
        )

    def _keep_metrics_inside(self, listener: LbListener) -> None:
        LbListenerRule(
            self,
            "metrics",
            listener_arn=listener.arn,
            priority=1,
            condition=[
                LbListenerRuleCondition(path_pattern=LbListenerRuleConditionPathPattern(values=["/metrics"]))
            ],
            action=[
                LbListenerRuleAction(
                    type="fixed-response", fixed_response=LbListenerRuleActionFixedResponse(**_NOT_FOUND)
                )
            ],
        )

    def _service(self, listener: LbListener, priority: int, name: str, host: str) -> LbTargetGroup:
        service = host.partition(".")[0]
        targets = self._target_group(service, name)
        LbListenerRule(
            self,
            service,
            listener_arn=listener.arn,
            priority=priority,
            condition=[LbListenerRuleCondition(host_header=LbListenerRuleConditionHostHeader(values=[host]))],
            action=[LbListenerRuleAction(type="forward", target_group_arn=targets.arn)],
        )
        return targets

    def _target_group(self, service: str, name: str) -> LbTargetGroup:
        return LbTargetGroup(
            self,
            f"{service}-targets",
            name=name,
            vpc_id=self._vpc_id,
            target_type="ip",
            protocol="HTTP",
            port=POD_PORT,
            deregistration_delay=str(_DRAIN_SECONDS),
            health_check=LbTargetGroupHealthCheck(
                protocol="HTTP",
                path="/readyz",
                matcher="200",
                interval=15,
                timeout=5,
                healthy_threshold=2,
                unhealthy_threshold=3,
            ),
        )
