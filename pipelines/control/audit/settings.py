"""Settings of the audit node."""

from pydantic import Field

from shared.runtime.settings import SparkSettings


class AuditSettings(SparkSettings):
    """How often tallies are made, and of how much."""

    audit_trigger: str = Field(
        "5 seconds",
        description="How often what was written since is tallied. Each time has its price, and what the page "
        "shows is so much older.",
    )
    audit_tasks: int = Field(1, ge=1, description="Tasks of a micro-batch, each with a Python worker.")
    audit_batch_records: int = Field(
        400_000, ge=1, description="Most records of one micro-batch: how much is read at once to catch up."
    )
