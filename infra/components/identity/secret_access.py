"""Statements for reading secrets from AWS Secrets Manager."""

from infra.aws.policy import ANY, Statement


def get_secrets(sid: str, secrets_arn: str) -> Statement:
    """Read the values of secrets.

    Args:
        sid: Name of the statement.
        secrets_arn: Pattern of the secrets' ARNs.
    """
    return Statement(sid=sid, actions=["secretsmanager:GetSecretValue"], resources=[secrets_arn])


def batch_get_secrets(sid: str) -> Statement:
    """Request several secrets at once.

    Args:
        sid: Name of the statement.
    """
    return Statement(
        sid=sid,
        actions=["secretsmanager:BatchGetSecretValue"],
        resources=[ANY],
        reason="AWS knows no resource of it; each value needs GetSecretValue as well",
    )
