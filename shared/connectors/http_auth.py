"""Options of HTTP destinations that say who sends."""

from typing import Annotated, Literal

from msgspec import Meta, Struct

from shared.contracts.documents import SecretRef

HttpUrl = Annotated[str, Meta(pattern=r"^https?://")]


class Bearer(Struct, tag="bearer", tag_field="type", kw_only=True, frozen=True):
    """A fixed token (RFC 6750)."""

    token: SecretRef


class Basic(Struct, tag="basic", tag_field="type", kw_only=True, frozen=True):
    """A user and a password (RFC 7617)."""

    username: Annotated[str, Meta(pattern="^[^:]*$")]
    password: SecretRef


class OAuth2(Struct, tag="oauth2", tag_field="type", kw_only=True, frozen=True):
    """A token requested by hifi: OAuth 2.0 client credentials (RFC 6749, 4.4)."""

    token_url: HttpUrl
    client_id: str
    client_secret: SecretRef
    scope: str = ""
    """Scopes separated by blanks; empty for the server's default."""

    audience: str = ""
    """A parameter that some servers require besides the standard ones."""

    credentials: Literal["header", "body"] = "header"
    """Where the token request carries client_id and client_secret (RFC 6749, 2.3.1)."""


Auth = Bearer | Basic | OAuth2
