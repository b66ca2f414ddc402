"""Amazon resource names (ARNs)."""

from dataclasses import dataclass
from typing import Final

AUTOSCALING: Final = "autoscaling.amazonaws.com"
"""EC2 Auto Scaling, which launches the nodes."""

_ROLES: Final = {AUTOSCALING: "AWSServiceRoleForAutoScaling"}


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

    def service_linked_role(self, service: str) -> str:
        """ARN of the role that a service acts with, such as `autoscaling.amazonaws.com`."""
        return self.iam(f"role/aws-service-role/{service}/{_ROLES[service]}")


def bucket_arn(bucket_name: str) -> str:
    """ARN of an S3 bucket, which has no region and no account."""
    return f"arn:aws:s3:::{bucket_name}"
