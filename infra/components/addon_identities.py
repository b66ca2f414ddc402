"""What the add-ons' pods may do in AWS."""

from dataclasses import dataclass

from infra.aws.policy import Statement
from infra.components.kafka_access import KafkaAccess, KafkaArns
from infra.components.pod_identities import PodIdentity
from shared.contracts.topics import Topic

KEDA_NAMESPACE = "keda"
SYSTEM_NAMESPACE = "kube-system"
AUTOSCALER = "cluster-autoscaler"
BALANCER = "aws-load-balancer-controller"
KEDA = "keda-operator"

_NO_RESOURCE = "these calls only describe, and IAM lets them name no resource"


@dataclass(frozen=True, kw_only=True)
class Surroundings:
    """What the add-ons work on."""

    region: str
    account: str
    cluster_name: str
    kafka: KafkaArns
    target_group_arn: str


def addon_identities(around: Surroundings) -> list[PodIdentity]:
    """One identity an add-on that calls AWS."""
    lag = KafkaAccess(describes=list(Topic), watches=["hifi.*"])
    return [
        PodIdentity(
            namespace=SYSTEM_NAMESPACE, service_account=AUTOSCALER, statements=_autoscaler_statements(around)
        ),
        PodIdentity(
            namespace=SYSTEM_NAMESPACE, service_account=BALANCER, statements=_balancer_statements(around)
        ),
        PodIdentity(namespace=KEDA_NAMESPACE, service_account=KEDA, statements=lag.statements(around.kafka)),
    ]


def _autoscaler_statements(around: Surroundings) -> list[Statement]:
    place = f"{around.region}:{around.account}"
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
            resources=[f"arn:aws:eks:{place}:nodegroup/{around.cluster_name}/*/*"],
        ),
        Statement(
            sid="Scale",
            actions=["autoscaling:SetDesiredCapacity", "autoscaling:TerminateInstanceInAutoScalingGroup"],
            # EKS makes up the groups' names, so the tag says which are this cluster's.
            resources=[f"arn:aws:autoscaling:{place}:autoScalingGroup:*:autoScalingGroupName/eks-*"],
            conditions={
                "StringEquals": {
                    f"aws:ResourceTag/k8s.io/cluster-autoscaler/{around.cluster_name}": "owned",
                }
            },
        ),
    ]


def _balancer_statements(around: Surroundings) -> list[Statement]:
    """Only what a TargetGroupBinding needs: balancers and rules are declared here, not by the controller."""
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
            resources=[around.target_group_arn],
        ),
    ]
