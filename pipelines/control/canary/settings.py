"""Settings of the canary process."""

from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from shared.contracts.canary_pause import MOST_PAUSE_SECONDS
from shared.contracts.egress_policy import literal, special
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
        description="Base URL at which transmit reaches this process: public and https, except on a local "
        "side. Without it the canary of a local side uses its own port, and any other is idle.",
    )
    canary_rate: float = Field(2.0, gt=0, le=100, description="Events per second.")
    canary_seconds: float = Field(
        2.0,
        gt=0,
        le=30,
        description="Seconds between two requests; each costs the chain a micro-batch, however few events it "
        "has.",
    )
    canary_missing_seconds: float = Field(
        30.0,
        gt=0,
        description="How long after its acknowledgement an event that has not arrived counts as missing.",
    )
    canary_pause_seconds: int = Field(
        0,
        ge=0,
        le=MOST_PAUSE_SECONDS,
        description="Seconds from its start for which it only receives: a side warms up meanwhile.",
    )
    canary_stop_seconds: float = Field(
        3.0, ge=0, le=4, description="Seconds to wait for events under way when the process stops."
    )

    @model_validator(mode="after")
    def _reachable(self) -> Self:
        if self.canary_sinks is None or self.canary_sinks.startswith(_SECURE):
            return self
        address = literal(urlsplit(self.canary_sinks).hostname or "")
        inside = (
            address is not None and special(address) is not None and not self.canary_egress.refuses(address)
        )
        if not (self.canary_sinks.startswith(_OPEN) and inside):
            raise ValueError(
                f"HIFI_CANARY_SINKS: give an {_SECURE} URL, or an {_OPEN} one with the address that "
                f"HIFI_ALLOW_ADDRESS names, not {self.canary_sinks!r}"
            )
        return self
