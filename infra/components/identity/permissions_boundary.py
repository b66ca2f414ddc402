"""The permissions boundary: the upper limit of what any role of a side can do."""

from cdktf_cdktf_provider_aws.iam_policy import IamPolicy
from constructs import Construct

from infra.aws.arns import bucket_arn
from infra.aws.policy import ANY, Statement, policy_document, write_reasons
from infra.components.identity.secret_access import batch_get_secrets, get_secrets
from infra.config import Environment

# The services that roles of nodes, control plane, add-ons and pods use; see the AWS managed policies for EKS.
# Not STS: a role that may assume others of the account leaves its boundary behind. None has to, and asking
# who one is needs no permission.
_SERVICES = (
    "acm",
    "autoscaling",
    "cloudwatch",
    "codestar-connections",
    "dynamodb",
    "ec2",
    "ecr",
    "eks",
    "eks-auth",
    "elasticloadbalancing",
    "kafka",
    "kms",
    "logs",
    "sns",
    "wafv2",
)

_KAFKA_KINDS = ("cluster", "topic", "group", "transactional-id")


class PermissionsBoundary(Construct):
    """The boundary's policy; the deploy role may create only roles that have it."""

    def __init__(self, scope: Construct, name: str, *, environment: Environment) -> None:
        """Declare the policy.

        Args:
            scope: The stack.
            name: Construct id in the stack.
            environment: Settings of the environment.
        """
        super().__init__(scope, name)
        statements = boundary_statements(environment)
        policy = IamPolicy(
            self,
            "boundary",
            name=environment.names.boundary,
            description="The most that a role of a side can do; it grants nothing by itself",
            policy=policy_document(statements),
        )
        write_reasons(policy, statements)


def boundary_statements(environment: Environment) -> list[Statement]:
    """Statements of the boundary: no IAM, no buckets of other projects, no Terraform state."""
    prefix = environment.names.prefix
    state = bucket_arn(environment.names.bucket("state"))
    return [
        Statement(
            sid="ServicesOfASide",
            actions=[f"{service}:*" for service in _SERVICES],
            resources=[ANY],
            conditions={"StringEquals": {"aws:RequestedRegion": environment.region}},
            reason="a boundary grants nothing: it caps what a role's own policies grant",
        ),
        # No condition: brokers evaluate these themselves, and no global condition key is documented for them.
        Statement(
            sid="OurTopics",
            actions=["kafka-cluster:*"],
            resources=[environment.arns.of("kafka", f"{kind}/{prefix}-*") for kind in _KAFKA_KINDS],
        ),
        get_secrets("OurSecrets", environment.arns.of("secretsmanager", "secret:hifi/*")),
        batch_get_secrets("OurSecretsTogether"),
        Statement(
            sid="OurBuckets",
            actions=["s3:*"],
            resources=[bucket_arn(f"{prefix}-*")],
        ),
        Statement(
            sid="RolesOfServices",
            actions=["iam:CreateServiceLinkedRole"],
            resources=[environment.arns.iam("role/aws-service-role/*")],
        ),
        Statement(
            sid="NeverTheState",
            effect="Deny",
            actions=["s3:*"],
            resources=[state, f"{state}/*"],
        ),
    ]
