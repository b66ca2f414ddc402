"""Statements of a deployment about Kafka, Kubernetes and their keys."""

from infra.aws.policy import ANY, Statement
from infra.components.deployment import iam_actions as actions
from infra.config import Environment

_CLUSTER_KEY = "cluster"
_LENT_KEYS = ("kafka", "logs")


def cluster_statements(environment: Environment) -> list[Statement]:
    """The statements of an environment."""
    return [
        *_kafka(environment),
        *_kubernetes(environment),
        *_runners(environment),
        *_keys(environment),
    ]


def _kafka(environment: Environment) -> list[Statement]:
    arns, ours = environment.arns, f"{environment.names.prefix}-*/*"
    return [
        Statement(
            sid="MakeKafka",
            actions=actions.MAKE_KAFKA,
            resources=[ANY],
            conditions={"StringEquals": {"aws:RequestedRegion": environment.region}},
            reason="MSK knows no resource before it is made: these actions take only *",
        ),
        Statement(
            sid="ChangeKafka",
            actions=actions.CHANGE_KAFKA,
            resources=[arns.of("kafka", f"{kind}/{ours}") for kind in ("cluster", "configuration")],
        ),
        Statement(
            sid="DeliverLogs",
            actions=actions.DELIVER_LOGS,
            resources=[ANY],
            reason="IAM knows no resource for log deliveries; MSK makes one for the brokers' log group",
        ),
        Statement(
            sid="GrowVolumes",
            actions=actions.SCALE_STORAGE,
            resources=[arns.of("application-autoscaling", "scalable-target/*")],
        ),
        # Application Auto Scaling asks it of whoever changes a policy, and names the alarms itself.
        Statement(
            sid="ChangeScalingAlarms",
            actions=actions.CHANGE_SCALING_ALARMS,
            resources=[arns.of("cloudwatch", "alarm:TargetTracking-*")],
        ),
    ]


def _kubernetes(environment: Environment) -> list[Statement]:
    arns, ours = environment.arns, f"{environment.names.prefix}-*"
    parts = ("access-entry", "addon", "nodegroup", "podidentityassociation")
    return [
        Statement(
            sid="ChangeKubernetes",
            actions=actions.CHANGE_KUBERNETES,
            resources=[
                arns.of("eks", f"cluster/{ours}"),
                *(arns.of("eks", f"{part}/{ours}/*") for part in parts),
            ],
        ),
        Statement(
            sid="TagNodeGroups",
            actions=["autoscaling:CreateOrUpdateTags", "autoscaling:DeleteTags"],
            resources=[arns.of("autoscaling", "autoScalingGroup:*:autoScalingGroupName/eks-*")],
        ),
    ]


def _runners(environment: Environment) -> list[Statement]:
    return [
        Statement(
            sid="ChangeRunners",
            actions=actions.CHANGE_RUNNERS,
            resources=[environment.arns.of("codebuild", f"project/{environment.names.prefix}-*")],
        ),
        Statement(
            sid="UseConnection",
            actions=actions.USE_CONNECTION,
            resources=[environment.arns.of("codestar-connections", "connection/*")],
        ),
    ]


def _keys(environment: Environment) -> list[Statement]:
    keys, alias = environment.arns.of("kms", "key/*"), environment.names.key_alias
    return [
        Statement(
            sid="LendKeysToServices",
            actions=["kms:CreateGrant"],
            resources=[keys],
            conditions={
                "ForAnyValue:StringEquals": {"kms:ResourceAliases": [alias(each) for each in _LENT_KEYS]},
                "Bool": {"kms:GrantIsForAWSResource": "true"},
            },
        ),
        # EKS makes a cluster's grant in a way that the other condition does not hold for.
        Statement(
            sid="LendTheClustersKey",
            actions=["kms:CreateGrant"],
            resources=[keys],
            conditions={"ForAnyValue:StringEquals": {"kms:ResourceAliases": [alias(_CLUSTER_KEY)]}},
        ),
    ]
