"""Permissions of the add-ons' pods in AWS."""

from collections.abc import Sequence
from dataclasses import dataclass

from infra.aws.arns import Arns
from infra.aws.policy import Statement
from infra.components.identity.pod_identities import PodIdentity
from infra.components.kafka.access import KafkaAccess, KafkaArns
from shared.contracts.topics import Topic

KEDA_NAMESPACE = "keda"
SYSTEM_NAMESPACE = "kube-system"
AUTOSCALER = "cluster-autoscaler"
BALANCER = "aws-load-balancer-controller"
KEDA = "keda-operator"
MONITORING_NAMESPACE = "monitoring"
FLUENT_BIT = "fluent-bit"
ALERTMANAGER = "alertmanager"

_NO_RESOURCE = "these calls only describe, and IAM lets them name no resource"


@dataclass(frozen=True, kw_only=True)
class AddonResources:
    """The resources that the add-ons may act on."""

    arns: Arns
    cluster_name: str
    kafka: KafkaArns
    target_group_arns: Sequence[str]
    pod_logs: str
    alarm_topic_arn: str
    alarm_topic_key_arn: str


def addon_identities(allowed: AddonResources) -> list[PodIdentity]:
    """The identities of the add-ons that call AWS."""
    lag = KafkaAccess(describes=list(Topic), watches=["hifi.*"])
    return [
        PodIdentity(
            namespace=SYSTEM_NAMESPACE, service_account=AUTOSCALER, statements=_autoscaler_statements(allowed)
        ),
        PodIdentity(
            namespace=SYSTEM_NAMESPACE, service_account=BALANCER, statements=_balancer_statements(allowed)
        ),
        PodIdentity(namespace=KEDA_NAMESPACE, service_account=KEDA, statements=lag.statements(allowed.kafka)),
        PodIdentity(
            namespace=MONITORING_NAMESPACE, service_account=FLUENT_BIT, statements=[_write_logs(allowed)]
        ),
        PodIdentity(
            namespace=MONITORING_NAMESPACE, service_account=ALERTMANAGER, statements=_send_alarms(allowed)
        ),
    ]


def _autoscaler_statements(allowed: AddonResources) -> list[Statement]:
    return [
        Statement(
            sid="Look",
            actions=[
                "autoscaling:DescribeAutoScalingGroups",
                "autoscaling:DescribeAutoScalingInstances",
                "autoscaling:DescribeLaunchConfigurations",
                "autoscaling:DescribeScalingActivities",
                "ec2:DescribeImages",
                "ec2:DescribeInstanceTypes",
                "ec2:DescribeLaunchTemplateVersions",
                "ec2:GetInstanceTypesFromInstanceRequirements",
            ],
            resources=["*"],
            reason=_NO_RESOURCE,
        ),
        Statement(
            sid="LookAtNodeGroups",
            actions=["eks:DescribeNodegroup"],
            resources=[allowed.arns.of("eks", f"nodegroup/{allowed.cluster_name}/*/*")],
        ),
        Statement(
            sid="Scale",
            actions=["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            # EKS generates the names of the groups; the tag shows which belong to this cluster.
            resources=[allowed.arns.of("autoscaling", "autoScalingGroup:*:autoScalingGroupName/eks-*")],
            conditions={
                "StringEquals": {
                    f"aws:ResourceTag/k8s.io/cluster-autoscaler/{allowed.cluster_name}": "owned",
                }
            },
        ),
    ]


def _balancer_statements(allowed: AddonResources) -> list[Statement]:
    """Only what a TargetGroupBinding needs: the stack declares load balancers, not the controller."""
    return [
        Statement(
            sid="Look",
            actions=[
                "ec2:DescribeAvailabilityZones",
                "ec2:DescribeInstances",
                "ec2:DescribeNetworkInterfaces",
                "ec2:DescribeSecurityGroups",
                "ec2:DescribeSubnets",
                "ec2:DescribeVpcs",
                "elasticloadbalancing:DescribeTags",
                "elasticloadbalancing:DescribeTargetGroupAttributes",
                "elasticloadbalancing:DescribeTargetGroups",
                "elasticloadbalancing:DescribeTargetHealth",
            ],
            resources=["*"],
            reason=_NO_RESOURCE,
        ),
        Statement(
            sid="Register",
            actions=["elasticloadbalancing:DeregisterTargets", "elasticloadbalancing:RegisterTargets"],
            resources=list(allowed.target_group_arns),
        ),
    ]


def _write_logs(allowed: AddonResources) -> Statement:
    """Write to the side's own group, which the stack makes: not make groups, and not read."""
    return Statement(
        sid="WriteLogs",
        actions=["logs:CreateLogStream", "logs:PutLogEvents"],
        resources=[allowed.arns.of("logs", f"log-group:{allowed.pod_logs}:*")],
    )


def _send_alarms(allowed: AddonResources) -> list[Statement]:
    return [
        Statement(sid="Alarms", actions=["sns:Publish"], resources=[allowed.alarm_topic_arn]),
        Statement(
            sid="AlarmsKey",
            actions=["kms:Decrypt", "kms:GenerateDataKey"],
            resources=[allowed.alarm_topic_key_arn],
        ),
    ]
