"""Settings of the trace process."""

from pydantic import Field

from shared.runtime.settings import SideSettings


class TraceSettings(SideSettings):
    """Settings of one trace process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on, for health and metrics.")
    port: int = Field(8084, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    otlp_endpoint: str = Field(
        pattern="^https?://.+",
        description="Base URL of the receiver of spans, OTLP over HTTP, for example http://127.0.0.1:4318.",
    )
    hold_seconds: float = Field(
        15.0,
        ge=0,
        description="How long the first trace point of an event waits for the others, so that each span "
        "begins where the one before it ended.",
    )
    export_timeout: float = Field(
        5.0, gt=0, description="Seconds for the receiver to acknowledge a batch of spans."
    )
