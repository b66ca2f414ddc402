"""CloudWatch log groups, encrypted and with a retention."""

from cdktf_cdktf_provider_aws.cloudwatch_log_group import CloudwatchLogGroup
from constructs import Construct


def log_group(
    scope: Construct, construct_id: str, *, name: str, key_arn: str, days: int
) -> CloudwatchLogGroup:
    """Declare a log group.

    Args:
        scope: The construct that it belongs to.
        construct_id: Construct id in it.
        name: Name in CloudWatch.
        key_arn: KMS key that encrypts it.
        days: Retention in days, one of the numbers that CloudWatch accepts.
    """
    return CloudwatchLogGroup(scope, construct_id, name=name, kms_key_id=key_arn, retention_in_days=days)
