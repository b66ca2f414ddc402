"""Credentials for HTTP destinations: the options in documents, and the headers made of them."""

import base64
import re
from typing import Annotated, Final, Literal
from urllib.parse import quote_plus

from msgspec import Meta, Struct

from shared.contracts.documents import SecretRef
from shared.contracts.secrets import Secrets

HttpUrl = Annotated[str, Meta(pattern=r"^https?://")]
_HEADER_TEXT: Final = re.compile(r"[\t\x20-\x7e]+")


class BadSecretError(ValueError):
    """A secret cannot be used for its purpose. The text gives its name, never its value."""

    def __init__(self, reference: str, problem: str) -> None:
        super().__init__(f"bad_secret: {reference} {problem}")


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


def header_text(secrets: Secrets, reference: str) -> str:
    """A secret that becomes part of a header.

    Raises:
        UnknownSecretError: if it does not exist.
        BadSecretError: if it is not valid in a header.
    """
    value = secrets.get(reference).strip()
    if not _HEADER_TEXT.fullmatch(value):
        raise BadSecretError(reference, "is empty, or holds a line break or a character outside ASCII")
    return value


def bearer(token: str) -> str:
    """The Authorization header of a token."""
    return f"Bearer {token}"


def basic(user: str, password: str) -> str:
    """The Authorization header of a user and a password, in UTF-8 (RFC 7617, 2.1)."""
    return "Basic " + base64.b64encode(f"{user}:{password}".encode()).decode()


def client(auth: OAuth2, secret: str) -> str:
    """The Authorization header of a token request: both parts are form-encoded first (RFC 6749, 2.3.1)."""
    return basic(quote_plus(auth.client_id), quote_plus(secret))
