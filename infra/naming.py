"""Naming rules, by which one stack finds a resource of another without a reference."""

from dataclasses import dataclass
from enum import StrEnum

PROJECT = "hifi"


class Side(StrEnum):
    """One of the twins."""

    BLUE = "blue"
    GREEN = "green"


@dataclass(frozen=True, kw_only=True)
class Names:
    """Names of the resources that an environment shares; each contains the environment's name."""

    environment: str
    account: str

    @property
    def prefix(self) -> str:
        """Start of every name of the environment."""
        return f"{PROJECT}-{self.environment}"

    def key_alias(self, purpose: str) -> str:
        """Alias of a KMS key of foundation: state, data, images, kafka, cluster, logs."""
        return f"alias/{self.prefix}-{purpose}"

    def bucket(self, purpose: str) -> str:
        """Name of an S3 bucket of foundation: state, checkpoints, landed, versions, access-logs."""
        return f"{self.prefix}-{purpose}-{self.account}"

    def repository(self, image: str) -> str:
        """Name of an ECR repository of foundation: service, spark."""
        return f"{self.prefix}/{image}"

    @property
    def deploy_role(self) -> str:
        """Name of the role that GitHub's deploying workflows assume."""
        return f"{self.prefix}-deploy"

    @property
    def plan_role(self) -> str:
        """Name of the read-only role that GitHub's workflows on pull requests assume."""
        return f"{self.prefix}-plan"

    @property
    def deployer_role(self) -> str:
        """Name of the role of the deployer's pods, on both sides."""
        return f"{self.prefix}-deployer"

    @property
    def boundary(self) -> str:
        """Name of the permissions boundary of every role of the environment's sides."""
        return f"{self.prefix}-boundary"

    @property
    def weights_parameter(self) -> str:
        """Name of the SSM parameter with the sides' weights that hold now: `{"blue": 100, "green": 0}`."""
        return f"/{self.prefix}/weights"

    @property
    def closed_parameter(self) -> str:
        """Name of the SSM parameter with the sides that get no traffic in any case: `["green"]`."""
        return f"/{self.prefix}/closed-sides"

    @property
    def github_connection(self) -> str:
        """Name of the connection through which the sides' runners take jobs from GitHub."""
        return f"{self.prefix}-github"

    @property
    def budget_topic(self) -> str:
        """Name of the SNS topic that the budget notifies."""
        return f"{self.prefix}-budget"

    def table(self, content: str) -> str:
        """Name of a DynamoDB table of foundation."""
        return f"{self.prefix}-{content}"

    @property
    def documents_table(self) -> str:
        """Name of the DynamoDB table of documents, tokens, members and releases, which both sides share."""
        return self.table("documents")

    def meter_table(self, side: Side) -> str:
        """Name of the DynamoDB table of a side's scorecards, which are kept when the side is destroyed."""
        return self.table(f"meter-{side}")


@dataclass(frozen=True, kw_only=True)
class TwinNames:
    """Names of a side's own resources."""

    environment: str
    side: Side

    @property
    def prefix(self) -> str:
        """Start of every name of the side, and the name of its VPC, Kafka cluster and EKS cluster."""
        return f"{PROJECT}-{self.environment}-{self.side}"

    @property
    def load_balancer(self) -> str:
        """Name of collect's load balancer and of its target group (AWS allows 32 characters)."""
        return f"{self.prefix}-collect"

    @property
    def management_balancer(self) -> str:
        """Name of the load balancer of the management API and the console (AWS allows 32 characters)."""
        return f"{self.prefix}-manage"

    @property
    def api_targets(self) -> str:
        """Name of the target group of the management API."""
        return f"{self.prefix}-api"

    @property
    def console_targets(self) -> str:
        """Name of the target group of the console."""
        return f"{self.prefix}-console"

    @property
    def runner(self) -> str:
        """Name of the runner in the side's VPC: the CodeBuild project that takes GitHub's jobs."""
        return f"{self.prefix}-runner"

    @property
    def pod_logs(self) -> str:
        """Name of the CloudWatch log group of the side's pods."""
        return f"/aws/eks/{self.prefix}/pods"

    @property
    def alarm_topic(self) -> str:
        """Name of the SNS topic of the side's alarms."""
        return f"{self.prefix}-alarms"
