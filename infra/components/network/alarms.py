"""CloudWatch alarms of a side's load balancers."""

from collections.abc import Mapping

from constructs import Construct

from infra.aws.alarm import Rule, alarm

_RULES = (
    Rule(
        name="unhealthy-targets",
        metric="UnHealthyHostCount",
        minutes=10,
        missing_data="notBreaching",
        description="For ten minutes the load balancer has not reached a pod of collect, "
        "though Kubernetes calls it ready",
    ),
    Rule(
        name="ports-exhausted",
        metric="PortAllocationErrorCount",
        statistic="Sum",
        minutes=5,
        missing_data="notBreaching",
        description="The load balancer has no port left for connections to collect and drops some: add pods",
    ),
)


class BalancerAlarms(Construct):
    """The alarms of collect's load balancer, beside the one in edge that takes an unhealthy side out."""

    def __init__(  # noqa: PLR0913 -- each a part of the alarms
        self,
        scope: Construct,
        name: str,
        *,
        prefix: str,
        balancer: str,
        targets: str,
        topic_arn: str,
    ) -> None:
        """Declare the alarms.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            prefix: Start of the alarms' names.
            balancer: End of the load balancer's ARN, as CloudWatch names it.
            targets: End of the target group's ARN.
            topic_arn: SNS topic notified when an alarm is raised and when it ends.
        """
        super().__init__(scope, name)
        for rule in _RULES:
            of_targets = {"TargetGroup": targets} if rule.metric == "UnHealthyHostCount" else {}
            alarm(
                self,
                rule,
                prefix=prefix,
                namespace="AWS/NetworkELB",
                dimensions={"LoadBalancer": balancer} | of_targets,
                topic_arn=topic_arn,
            )


class ManagementAlarms(Construct):
    """An alarm for each service of the management plane: the load balancer does not reach its only pod.

    It says nothing of a pod that is not ready, which has no target. Prometheus has an alert for that.
    """

    def __init__(
        self, scope: Construct, name: str, *, balancer: str, targets: Mapping[str, str], topic_arn: str
    ) -> None:
        """Declare the alarms.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            balancer: End of the load balancer's ARN, as CloudWatch names it.
            targets: End of each target group's ARN, by the group's name, with which the alarm's name begins.
            topic_arn: SNS topic notified when an alarm is raised and when it ends.
        """
        super().__init__(scope, name)
        for group, suffix in targets.items():
            rule = Rule(
                name="unhealthy-targets",
                metric="UnHealthyHostCount",
                minutes=10,
                missing_data="notBreaching",
                description="For ten minutes the load balancer has not reached the pod, "
                "though Kubernetes calls it ready",
            )
            alarm(
                Construct(self, group.rpartition("-")[2]),
                rule,
                prefix=group,
                namespace="AWS/ApplicationELB",
                dimensions={"LoadBalancer": balancer, "TargetGroup": suffix},
                topic_arn=topic_arn,
            )
