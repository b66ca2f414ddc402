"""Policies of the KMS keys: who may use which."""

from infra.aws.arns import AUTOSCALING
from infra.aws.policy import ANY, Statement
from infra.config import Environment

_THIS_KEY = "in the policy of a key * is the key itself"
_USE = ("kms:Encrypt", "kms:Decrypt", "kms:ReEncrypt*", "kms:GenerateDataKey*", "kms:DescribeKey")


def key_statements(purpose: str, environment: Environment) -> list[Statement]:
    """Statements of a key's policy.

    Args:
        purpose: One of `infra.components.encryption.keys.PURPOSES`.
        environment: Settings of the environment.
    """
    services = {"logs": _log_writers, "cluster": _node_volumes}
    extra = services[purpose](environment) if purpose in services else []
    return [_account(environment), *extra]


def _account(environment: Environment) -> Statement:
    return Statement(
        sid="IamOfTheAccountDecides",
        actions=["kms:*"],
        resources=[ANY],
        principals={"AWS": environment.arns.iam("root")},
        reason=_THIS_KEY,
    )


def _log_writers(environment: Environment) -> list[Statement]:
    source = environment.arns.of("logs", "log-group:*")
    return [
        Statement(
            sid="LogGroupsOfTheAccount",
            actions=_USE,
            resources=[ANY],
            principals={"Service": f"logs.{environment.region}.amazonaws.com"},
            conditions={"ArnLike": {"kms:EncryptionContext:aws:logs:arn": source}},
            reason=_THIS_KEY,
        ),
        Statement(
            sid="AlarmsToEncryptedTopics",
            actions=["kms:Decrypt", "kms:GenerateDataKey*"],
            resources=[ANY],
            principals={"Service": ["cloudwatch.amazonaws.com", "budgets.amazonaws.com"]},
            conditions={"StringEquals": {"aws:SourceAccount": environment.account}},
            reason=_THIS_KEY,
        ),
    ]


def _node_volumes(environment: Environment) -> list[Statement]:
    # EC2 Auto Scaling creates the nodes' encrypted volumes. Its service-linked role has no permission on
    # customers' keys, so the key's policy must name the role itself: naming the account is not enough.
    principals = {"AWS": environment.arns.service_linked_role(AUTOSCALING)}
    return [
        Statement(
            sid="VolumesOfNodes",
            actions=_USE,
            resources=[ANY],
            principals=principals,
            reason=_THIS_KEY,
        ),
        Statement(
            sid="GrantsForVolumesOfNodes",
            actions=["kms:CreateGrant"],
            resources=[ANY],
            principals=principals,
            conditions={"Bool": {"kms:GrantIsForAWSResource": "true"}},
            reason=_THIS_KEY,
        ),
    ]
