"""Settings of the console process."""

from typing import Final, Self
from urllib.parse import urlsplit

from pydantic import Field, SecretStr, field_validator, model_validator
from pydantic_settings import SettingsConfigDict

from shared.contracts.egress_policy import is_loopback
from shared.oidc.addresses import checked_issuer
from shared.runtime.settings import BodySettings

CALLBACK: Final = "/sign-in/callback"
"""Path of `oidc_redirect`."""


class ConsoleSettings(BodySettings):
    """Settings of one console process, from HIFI_* environment variables."""

    model_config = SettingsConfigDict(hide_input_in_errors=True)  # one of them is a secret

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
    oidc_issuer: str | None = Field(
        None, description="OpenID Connect issuer that signs people in, the API's; without it tokens alone do."
    )
    oidc_client_id: str | None = Field(None, description="Id of the console as a client of the issuer.")
    oidc_client_secret: SecretStr | None = Field(
        None, description="Secret of that client; unset for a public one."
    )
    oidc_scopes: str = Field(
        "openid email profile",
        description="Scopes to ask the issuer for; some renew a session only with offline_access.",
    )
    poll_seconds: float = Field(
        5.0, ge=0.2, le=60, description="Seconds between two polls of observe while a page is open."
    )
    access_seconds: float = Field(
        60.0,
        ge=0.2,
        le=600,
        description="Seconds between two checks of whether an open page of the meter is still an operator's.",
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

    @property
    def oidc_redirect(self) -> str:
        """Where the issuer sends browsers back to: to be registered there exactly so."""
        return f"{self.public_url}{CALLBACK}"

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, issuer: str | None) -> str | None:
        return None if issuer is None else checked_issuer(issuer)

    @model_validator(mode="after")
    def _whole_oidc(self) -> Self:
        needed = {
            "HIFI_OIDC_CLIENT_ID": self.oidc_client_id,
            "HIFI_PUBLIC_URL": self.public_url,
            "HIFI_API": self.api,
        }
        missing = [name for name, value in needed.items() if not value]
        if self.oidc_issuer is not None and missing:
            raise ValueError(f"HIFI_OIDC_ISSUER is set, so set {' and '.join(missing)}")
        if self.oidc_issuer is None and (self.oidc_client_id or self.oidc_client_secret):
            raise ValueError("other HIFI_OIDC_ settings are set, so set HIFI_OIDC_ISSUER, or unset them")
        if "openid" not in self.oidc_scopes.split():
            raise ValueError("HIFI_OIDC_SCOPES: openid must be among them")
        return self

    @model_validator(mode="after")
    def _no_tokens_in_the_clear(self) -> Self:
        if self.api is not None and not self.tls and not is_loopback(self.host):
            raise ValueError(
                f"HIFI_HOST {self.host} is not a loopback address, and tokens must not travel in the clear; "
                "put a proxy with TLS before the console and set HIFI_PUBLIC_URL to its https address, "
                "or unset HIFI_API"
            )
        return self
