"""What the canary can be told from outside."""

from typing import Final, Self

from pydantic import Field, model_validator

from shared.runtime.settings import SideSettings

_SECURE: Final = "https://"
_OPEN: Final = "http://"


class CanarySettings(SideSettings):
    """Settings of the canary process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on: its destinations, health and metrics.")
    port: int = Field(8091, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    collect_url: str = Field("http://127.0.0.1:8080", description="Base URL of the side's collect.")
    canary_sinks: str | None = Field(
        None,
        description="Base URL under which transmit reaches this process: public and https, but on a local "
        "side. Without it a local side's canary names its own port, and another's is idle.",
    )
    canary_rate: float = Field(2.0, gt=0, le=100, description="Events per second.")
    canary_seconds: float = Field(
        2.0,
        gt=0,
        le=30,
        description="Seconds between two requests, each with the events that are due: each costs the chain a "
        "micro-batch, whatever is in it.",
    )
    canary_missing_seconds: float = Field(
        30.0, gt=0, description="An acknowledged event that has not arrived for so long is called missing."
    )
    canary_stop_seconds: float = Field(
        3.0, ge=0, le=4, description="Seconds that events on their way get at a stop to arrive."
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        schemes = (_SECURE, _OPEN) if self.allow_loopback else (_SECURE,)
        if self.canary_sinks is not None and not self.canary_sinks.startswith(schemes):
            raise ValueError(f"HIFI_CANARY_SINKS: give an {_SECURE} URL, not {self.canary_sinks!r}")
        return self
