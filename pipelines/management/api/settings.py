"""Settings of the management API."""

from pathlib import Path
from typing import Self

from pydantic import Field, field_validator, model_validator

from shared.contracts.egress_policy import is_loopback
from shared.contracts.tenant_limits import (
    TENANT_BYTES,
    TENANT_COMPARISONS,
    TENANT_CONTACTS,
    TENANT_COPIES,
    TENANT_DOCUMENTS,
    TENANT_SECRETS,
    TenantLimits,
)
from shared.oidc.addresses import checked_issuer
from shared.runtime.settings import BodySettings, DocumentsSettings


class ApiSettings(DocumentsSettings, BodySettings):
    """Settings of one API process, from HIFI_* environment variables."""

    bootstrap: str = Field(
        "", description="Kafka bootstrap servers of the side, for dead letters and live tails; see HIFI_SIDE."
    )
    host: str = Field("127.0.0.1", description="Address to listen on.")
    port: int = Field(8096, ge=0, le=65535, description="TCP port to listen on; 0 takes a free one.")
    token_file: Path | None = Field(
        None, description="Where an operator token is written, mode 0600, at a start that finds no valid one."
    )
    tls_certificate: Path | None = Field(None, description="PEM file of the server's certificate chain.")
    tls_key: Path | None = Field(None, description="PEM file of its private key.")
    public_url: str | None = Field(
        None,
        pattern=r"^https://[^/]+$",
        description="Where clients find the API behind a proxy that ends TLS, such as https://api.example.com.",
    )
    observe_url: str | None = Field(None, description="Base URL of observe, for customers' own meters.")
    body_bytes: int = Field(1024 * 1024, ge=1_024, description="Largest body of a request.")
    token_rate: float = Field(50.0, gt=0, description="Requests a second and token.")
    tenant_rate: float = Field(
        200.0, gt=0, description="Requests a second and tenant, of all its tokens and people together."
    )
    tenant_documents: int = Field(
        TENANT_DOCUMENTS, ge=1, description="Most documents of one tenant; deleted ones do not count."
    )
    tenant_bytes: int = Field(
        TENANT_BYTES, ge=1_024, description="Most bytes of one tenant's documents together, as JSON."
    )
    tenant_comparisons: int = Field(
        TENANT_COMPARISONS,
        ge=1,
        description="Most comparisons of an event with one tenant's pipes: matchers in all alternatives, "
        "objects on the way to fields, and watched fields.",
    )
    tenant_contacts: int = Field(TENANT_CONTACTS, ge=1, description="Most contacts of one tenant.")
    tenant_secrets: int = Field(
        TENANT_SECRETS,
        ge=1,
        description="Most secrets that one tenant's destinations and masks need, each counted once.",
    )
    tenant_copies: int = Field(
        TENANT_COPIES, ge=1, description="Most pipes of one source with the same match: copies of one event."
    )
    drain_timeout: int = Field(3, ge=1, description="Seconds for requests in flight when the process stops.")
    oidc_issuer: str | None = Field(
        None,
        description="OpenID Connect issuer; its tokens are taken beside hifi's. Exactly as they name it.",
    )
    oidc_audience: str = Field(
        "", description="Audiences of which such a token must name one, separated by commas: ids of clients."
    )
    oidc_label_claim: str = Field("email", description="Claim that people see of a person in lists and logs.")
    oidc_tenant_claim: str | None = Field(
        None, description="Claim that names the tenant in which the role claim holds; unset: members only."
    )
    oidc_role_claim: str | None = Field(
        None, description="Claim with a role: viewer, editor, owner; operator if there is no tenant claim."
    )

    @property
    def oidc_audiences(self) -> list[str]:
        """The audiences."""
        return [each for part in self.oidc_audience.split(",") if (each := part.strip())]

    @property
    def tenant_limits(self) -> TenantLimits:
        """How much one tenant may configure."""
        return TenantLimits(
            **{name: getattr(self, f"tenant_{name}") for name in TenantLimits.__struct_fields__}
        )

    @field_validator("oidc_issuer")
    @classmethod
    def _issuer(cls, issuer: str | None) -> str | None:
        return None if issuer is None else checked_issuer(issuer)

    @model_validator(mode="after")
    def _room_for_one_body(self) -> Self:
        if self.bodies_bytes < self.body_bytes:
            raise ValueError("HIFI_BODIES_BYTES is below HIFI_BODY_BYTES; set it to that at least")
        return self

    @model_validator(mode="after")
    def _whole_oidc(self) -> Self:
        if self.oidc_issuer is not None and not self.oidc_audiences:
            raise ValueError("HIFI_OIDC_ISSUER is set, so set HIFI_OIDC_AUDIENCE to the id of the client")
        if self.oidc_issuer is None and (
            self.oidc_audience or self.oidc_tenant_claim or self.oidc_role_claim
        ):
            raise ValueError("other HIFI_OIDC_ settings are set, so set HIFI_OIDC_ISSUER, or unset them")
        if self.oidc_tenant_claim is not None and self.oidc_role_claim is None:
            raise ValueError("HIFI_OIDC_TENANT_CLAIM is set, so set HIFI_OIDC_ROLE_CLAIM as well")
        return self

    @model_validator(mode="after")
    def _no_tokens_in_the_clear(self) -> Self:
        if (self.tls_certificate is None) != (self.tls_key is None):
            raise ValueError("set both HIFI_TLS_CERTIFICATE and HIFI_TLS_KEY, or neither")
        if self.tls_certificate is None and self.public_url is None and not is_loopback(self.host):
            raise ValueError(
                f"HIFI_HOST {self.host} is not a loopback address, and tokens must not travel in the clear; "
                "set HIFI_TLS_CERTIFICATE and HIFI_TLS_KEY, or put a proxy with TLS before the API and set "
                "HIFI_PUBLIC_URL to its https address"
            )
        return self
