"""Settings of the audit node."""

from pydantic import Field

from shared.runtime.settings import SparkSettings


class AuditSettings(SparkSettings):
    """How often tallies are made, and how many records a batch takes."""

    audit_trigger: str = Field(
        "5 seconds",
        description="How often new records are tallied. Shorter costs more CPU; longer makes the console's "
        "figures older.",
    )
    audit_tasks: int = Field(1, ge=1, description="Tasks of a micro-batch, each with a Python worker.")
    audit_batch_records: int = Field(
        400_000, ge=1, description="Most records of one micro-batch: how much is read at once to catch up."
    )
