"""Settings of the management plane: who reaches its API and console, and who signs people in."""

from ipaddress import IPv4Network
from typing import Self

from pydantic import Field, model_validator

from infra.exposure import Exposure, check_ranges
from infra.model import Model


class SignIn(Model):
    """The OpenID Connect issuer that signs in the people of the API and the console."""

    issuer: str = Field(
        pattern=r"^https://[^/?#]+(/[^?#]*)?$",
        description="Address of the issuer, https, exactly as its tokens name it: with or without a slash at "
        "the end. Its discovery document must be on the internet, as the pods reach no private address.",
    )
    console_client: str = Field(
        min_length=1,
        description="Id of the console as a client of the issuer. Its redirect address there is "
        "https://console.<domain>/sign-in/callback.",
    )
    other_clients: list[str] = Field(
        default=[],
        description="Ids of further clients whose tokens the API takes, such as that of `hifi login`.",
    )
    scopes: list[str] = Field(
        default=["openid", "email", "profile"],
        description="Scopes that the console asks for; some issuers renew only with offline_access.",
    )
    label_claim: str = Field(default="email", description="Claim that people see of a person.")
    tenant_claim: str | None = Field(
        default=None, description="Claim that names the tenant of role_claim; None: members only."
    )
    role_claim: str | None = Field(
        default=None, description="Claim with a role; without tenant_claim only operator counts."
    )

    @model_validator(mode="after")
    def _can_be_used(self) -> Self:
        if "openid" not in self.scopes:
            raise ValueError("scopes: openid must be among them")
        if self.tenant_claim is not None and self.role_claim is None:
            raise ValueError("role_claim: is not set, but tenant_claim is; set both")
        return self


class ManagementSettings(Model):
    """The API and the console at the edge."""

    exposure: Exposure = Field(
        description="`internet`: the load balancer of API and console has public addresses; `internal`: "
        "private ones, for connected networks."
    )
    client_ranges: list[IPv4Network] = Field(
        min_length=1,
        description="Address ranges from which people and programs reach API and console: your customers' "
        "ranges or 0.0.0.0/0 with exposure internet, ranges of connected networks with exposure internal.",
    )
    sign_in: SignIn | None = Field(
        default=None, description="The issuer that signs people in; None: hifi's own tokens alone do."
    )

    @model_validator(mode="after")
    def _clients_match_the_exposure(self) -> Self:
        check_ranges("client_ranges", self.exposure, self.client_ranges)
        return self
