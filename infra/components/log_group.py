"""Log groups, encrypted and with an end."""

from cdktf_cdktf_provider_aws.cloudwatch_log_group import CloudwatchLogGroup
from constructs import Construct


def log_group(scope: Construct, part: str, *, name: str, key_arn: str, days: int) -> CloudwatchLogGroup:
    """Declare a log group.

    Args:
        scope: What it belongs to.
        part: Name of this part in it.
        name: Name in CloudWatch.
        key_arn: KMS key it is encrypted with.
        days: How long its entries are kept; one of the numbers CloudWatch takes.
    """
    return CloudwatchLogGroup(scope, part, name=name, kms_key_id=key_arn, retention_in_days=days)
