"""Statements of a deployment about load balancers, DNS records, alarms and logs."""

from infra.aws.policy import ANY, Statement
from infra.components.deployment import iam_actions as actions
from infra.config import Environment


def traffic_statements(environment: Environment, *, zone_arn: str) -> list[Statement]:
    """The statements of an environment.

    Args:
        environment: Settings of the environment.
        zone_arn: ARN of the hosted zone; its records may be changed.
    """
    return [*_balancers(environment), *_records(environment, zone_arn), *_monitoring(environment)]


def _balancers(environment: Environment) -> list[Statement]:
    ours = f"{environment.names.prefix}-*/*"
    kinds = (
        "listener/net",
        "loadbalancer/net",
        "listener/app",
        "listener-rule/app",
        "loadbalancer/app",
        "targetgroup",
    )
    return [
        Statement(
            sid="ChangeBalancers",
            actions=actions.CHANGE_BALANCERS,
            resources=[environment.arns.of("elasticloadbalancing", f"{kind}/{ours}") for kind in kinds],
        )
    ]


def _records(environment: Environment, zone_arn: str) -> list[Statement]:
    return [
        Statement(sid="ChangeRecords", actions=["route53:ChangeResourceRecordSets"], resources=[zone_arn]),
        Statement(
            sid="CloseSides",  # the weights are the deployer's alone
            actions=["ssm:PutParameter"],
            resources=[environment.arns.of("ssm", f"parameter{environment.names.closed_parameter}")],
        ),
        Statement(
            sid="MakeHealthChecks",
            actions=["route53:CreateHealthCheck"],
            resources=[ANY],
            reason="Route 53 knows no health check before it is made: the action takes only *",
        ),
        Statement(
            sid="ChangeHealthChecks",
            actions=actions.CHANGE_HEALTH_CHECKS,
            resources=["arn:aws:route53:::healthcheck/*"],
        ),
    ]


def _monitoring(environment: Environment) -> list[Statement]:
    arns, prefix = environment.arns, environment.names.prefix
    return [
        Statement(
            sid="ChangeAlarms",
            actions=actions.CHANGE_ALARMS,
            resources=[arns.of("cloudwatch", f"alarm:{prefix}-*")],
        ),
        Statement(
            sid="ChangeTopics", actions=actions.CHANGE_TOPICS, resources=[arns.of("sns", f"{prefix}-*")]
        ),
        Statement(
            sid="ChangeLogGroups",
            actions=actions.CHANGE_LOG_GROUPS,
            resources=[arns.of("logs", f"log-group:*{prefix}-*")],
        ),
    ]
