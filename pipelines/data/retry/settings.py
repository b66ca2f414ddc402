"""retry's settings. How long records wait is a contract, not a setting."""

from pydantic import Field

from shared.runtime.settings import SideSettings


class RetrySettings(SideSettings):
    """Settings of one retry process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on, for health and metrics.")
    port: int = Field(8081, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    spread: float = Field(
        0.5,
        ge=0,
        le=1,
        description="Share of a topic's delay over which records that are due together are spread.",
    )
    drain_timeout: float = Field(
        5.0, gt=0, description="Seconds to wait at a stop for records in flight to be acknowledged."
    )
