"""Naming rules: what a stack calls a thing, and how another stack finds it without a reference."""

from dataclasses import dataclass
from enum import StrEnum

PROJECT = "hifi"


class Side(StrEnum):
    """One of the twins."""

    BLUE = "blue"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of what an environment shares. Each holds the environment, so that two fit in one account."""

    environment: str
    account: str

    @property
    def prefix(self) -> str:
        """What every name of the environment starts with."""
        return f"{PROJECT}-{self.environment}"

    def key_alias(self, purpose: str) -> str:
        """Alias of a KMS key of foundation: state, data, images, kafka, cluster, logs."""
        return f"alias/{self.prefix}-{purpose}"

    def bucket(self, purpose: str) -> str:
        """Name of an S3 bucket of foundation: state, checkpoints, landed. The account makes it unique."""
        return f"{self.prefix}-{purpose}-{self.account}"

    def repository(self, image: str) -> str:
        """Name of an ECR repository of foundation: service, spark."""
        return f"{self.prefix}/{image}"

    @property
    def deploy_role(self) -> str:
        """Name of the role GitHub's deploying workflows take on."""
        return f"{self.prefix}-deploy"

    @property
    def plan_role(self) -> str:
        """Name of the role GitHub's workflows on pull requests take on: it reads."""
        return f"{self.prefix}-plan"

    @property
    def boundary(self) -> str:
        """Name of the permissions boundary of every role of the environment's sides."""
        return f"{self.prefix}-boundary"

    @property
    def boundary_arn(self) -> str:
        """ARN of that boundary."""
        return f"arn:aws:iam::{self.account}:policy/{self.boundary}"

    def table(self, content: str) -> str:
        """Name of a DynamoDB table of foundation."""
        return f"{self.prefix}-{content}"

    def meter_table(self, side: Side) -> str:
        """Name of the DynamoDB table of a side's scorecards, which outlive the side."""
        return self.table(f"meter-{side}")


@dataclass(frozen=True, kw_only=True)
class TwinNames:
    """Names of what a side has for itself."""

    environment: str
    side: Side

    @property
    def prefix(self) -> str:
        """What every name of the side starts with; it is also the name of its VPC, Kafka and EKS cluster."""
        return f"{PROJECT}-{self.environment}-{self.side}"

    @property
    def load_balancer(self) -> str:
        """Name of collect's load balancer and of its target group (AWS takes at most 32 characters)."""
        return f"{self.prefix}-collect"

    @property
    def alarm_topic(self) -> str:
        """Name of the SNS topic of its alarms."""
        return f"{self.prefix}-alarms"
