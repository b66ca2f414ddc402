"""Settings of the console process."""

import ipaddress
from typing import Self
from urllib.parse import urlsplit

from pydantic import Field, model_validator

from shared.runtime.settings import SideSettings


class ConsoleSettings(SideSettings):
    """Settings of one console process, from HIFI_* environment variables."""

    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8090, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    observe_url: str = Field(
        "http://127.0.0.1:8089", pattern=r"^https?://", description="URL of observe, without a path."
    )
    api: str | None = Field(
        None,
        pattern=r"^https?://",
        description="URL of the management API, without a path; without it there are no pages of documents.",
    )
    api_timeout: float = Field(10.0, gt=0, description="Timeout of a request to the API, seconds.")
    public_url: str | None = Field(
        None,
        pattern=r"^https?://[^/]+$",
        description="Where browsers find the console behind a proxy, such as https://console.example.com.",
    )
    look_seconds: float = Field(
        5.0, ge=0.2, le=60, description="Seconds between two polls of observe while a page is open."
    )
    observe_timeout: float = Field(10.0, gt=0, description="Timeout of a request to observe, seconds.")
    drain_timeout: int = Field(3, ge=1, description="Seconds for open pages to close when the process stops.")

    @property
    def tls(self) -> bool:
        """Whether browsers come by TLS."""
        return (self.public_url or "").startswith("https:")

    @property
    def names(self) -> frozenset[str]:
        """Names by which browsers ask for it, beside its addresses."""
        found = urlsplit(self.public_url or "").hostname
        return frozenset() if found is None else frozenset({found})

    @model_validator(mode="after")
    def _no_tokens_in_the_clear(self) -> Self:
        if self.api is not None and not self.tls and not _is_loopback(self.host):
            raise ValueError(
                f"HIFI_HOST {self.host} is not a loopback address, and tokens must not travel in the clear; "
                "put a proxy with TLS before the console and set HIFI_PUBLIC_URL to its https address, "
                "or unset HIFI_API"
            )
        return self


def _is_loopback(host: str) -> bool:
    try:
        return ipaddress.ip_address(host).is_loopback
    except ValueError:
        return host == "localhost"
