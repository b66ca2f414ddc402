"""Amazon resource names of an account's region."""

from dataclasses import dataclass


@dataclass(frozen=True, kw_only=True)
class Arns:
    """Where the names point.

    Attributes:
        region: AWS region.
        account: Twelve digits.
    """

    region: str
    account: str

    def of(self, service: str, resource: str) -> str:
        """Name of a resource of the region."""
        return f"arn:aws:{service}:{self.region}:{self.account}:{resource}"

    def iam(self, resource: str) -> str:
        """Name of a resource of IAM, which knows no region."""
        return f"arn:aws:iam::{self.account}:{resource}"
