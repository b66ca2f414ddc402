"""Statements of a deployment about the IAM roles of the sides."""

from infra.aws.policy import Statement
from infra.components.deployment import iam_actions as actions
from infra.config import Environment
from infra.naming import Side

_PASSED_TO = (
    "codebuild.amazonaws.com",
    "ec2.amazonaws.com",
    "eks.amazonaws.com",
    "pods.eks.amazonaws.com",
    "vpc-flow-logs.amazonaws.com",
)
_HAVE_SERVICE_LINKED_ROLE = (
    "autoscaling.amazonaws.com",
    "eks-nodegroup.amazonaws.com",
    "eks.amazonaws.com",
    "elasticloadbalancing.amazonaws.com",
    "kafka.amazonaws.com",
    "kafka.application-autoscaling.amazonaws.com",
    "spot.amazonaws.com",
)


def role_statements(environment: Environment) -> list[Statement]:
    """The statements of an environment."""
    # Only the roles of sides: a deployment cannot extend its own permissions or those of the plan's role.
    ours = [environment.arns.iam(f"role/{environment.names.prefix}-{side}-*") for side in Side]
    return [
        Statement(
            sid="WidenWithinTheBoundary",
            actions=actions.WIDEN_ROLES,
            resources=ours,
            conditions={"StringEquals": {"iam:PermissionsBoundary": environment.boundary_arn}},
        ),
        Statement(sid="ChangeRoles", actions=actions.CHANGE_ROLES, resources=ours),
        Statement(
            sid="HandRolesToServices",
            actions=["iam:PassRole"],
            resources=ours,
            conditions={"StringEquals": {"iam:PassedToService": list(_PASSED_TO)}},
        ),
        # Foundation's: it is handed to the sides' pods as it is.
        Statement(
            sid="HandTheDeployersRoleToPods",
            actions=["iam:PassRole"],
            resources=[environment.arns.iam(f"role/{environment.names.deployer_role}")],
            conditions={"StringEquals": {"iam:PassedToService": "pods.eks.amazonaws.com"}},
        ),
        Statement(
            sid="RolesOfServices",
            actions=["iam:CreateServiceLinkedRole"],
            resources=[environment.arns.iam("role/aws-service-role/*")],
            conditions={"StringEquals": {"iam:AWSServiceName": list(_HAVE_SERVICE_LINKED_ROLE)}},
        ),
    ]
