"""Settings of the provisioner."""

from pydantic import Field

from shared.runtime.settings import DocumentsSettings


class ProvisionSettings(DocumentsSettings):
    """Settings of a provision process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on: health and metrics.")
    port: int = Field(8095, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    provision_seconds: float = Field(0.5, gt=0, le=60, description="Seconds between two looks at the table.")
    observe_url: str | None = Field(
        None, description="Base URL of observe, for rollouts of pipes; without it they wait."
    )
    rollout_seconds: float = Field(5.0, gt=0, le=60, description="Seconds between two looks at rollouts.")
    lease_seconds: float = Field(
        5.0, gt=0, le=60, description="Seconds of silence after which another process takes over."
    )
    longest_look_seconds: float = Field(
        300.0,
        gt=0,
        description="Seconds that one look at the table, or at rollouts, may take before another process may "
        "take over.",
    )
