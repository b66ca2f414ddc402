"""Amazon resource names (ARNs)."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Arns:
    """Builds ARNs of one account and region.

    Attributes:
        region: AWS region.
        account: Twelve digits.
    """

    region: str
    account: str

    def of(self, service: str, resource: str) -> str:
        """ARN of a regional resource."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def iam(self, resource: str) -> str:
        """ARN of an IAM resource, which has no region."""
        return f"arn:aws:iam::{self.account}:{resource}"


def bucket_arn(bucket_name: str) -> str:
    """ARN of an S3 bucket, which has no region and no account."""
    return f"arn:aws:s3:::{bucket_name}"
