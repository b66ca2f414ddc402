"""Settings of the deployer's backend for AWS."""

from pydantic import Field
from pydantic_settings import BaseSettings, SettingsConfigDict

from shared.contracts.document_items import DOCUMENTS_TABLE


class AwsSettings(BaseSettings):
    """Where the two sides of an environment are, from HIFI_* environment variables; the region is boto3's."""

    model_config = SettingsConfigDict(env_prefix="HIFI_", frozen=True, extra="ignore")

    documents_table: str = Field(DOCUMENTS_TABLE, description="Table with the fence of the weights.")
    documents_endpoint: str | None = Field(None, description="URL of DynamoDB Local.")
    aws_region: str = Field(description="Region of both sides.")
    aws_endpoint: str | None = Field(None, description="URL of a local AWS; without it, AWS.")
    aws_prefix: str = Field(description="What the names of an environment start with: hifi-production.")
    aws_versions: str = Field(description="Bucket of the manifests of all versions.")
    aws_checkpoints: str = Field(description="Bucket of the checkpoints, a folder for each side.")
    aws_blue_kafka: str = Field(description="ARN of blue's MSK cluster.")
    aws_green_kafka: str = Field(description="ARN of green's MSK cluster.")
    aws_blue_bootstrap: str = Field(description="Brokers of blue, as the processes of blue get them.")
    aws_green_bootstrap: str = Field(description="Brokers of green, as the processes of green get them.")
    aws_zone: str = Field(description="Id of the hosted zone of the records.")
    aws_events_host: str = Field(description="Name of the weighted records of events.")
    aws_management_hosts: str = Field(description="Names of API and console, separated by commas.")
    aws_weights_parameter: str = Field(description="SSM parameter of the weights.")
    aws_closed_parameter: str = Field(description="SSM parameter of the closed sides.")

    def bootstrap(self, side: str) -> str:
        """The brokers of a side."""
        return {"blue": self.aws_blue_bootstrap, "green": self.aws_green_bootstrap}[side]

    def kafka(self, side: str) -> str:
        """ARN of a side's MSK cluster."""
        return {"blue": self.aws_blue_kafka, "green": self.aws_green_kafka}[side]

    def cluster(self, side: str) -> str:
        """Name of a side's EKS cluster."""
        return f"{self.aws_prefix}-{side}"
