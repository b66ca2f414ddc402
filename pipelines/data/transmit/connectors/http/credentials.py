"""Credentials for HTTP destinations: the headers made of options and secrets."""

import base64
import re
from typing import Final
from urllib.parse import quote_plus

from shared.connectors.http_auth import OAuth2
from shared.contracts.secrets import Secrets, secret_text

_HEADER_TEXT: Final = re.compile(r"[\t\x20-\x7e]+")


class BadSecretError(ValueError):
    """A secret cannot be used for its purpose. The text gives its name, never its value."""

    def __init__(self, reference: str, problem: str) -> None:
        super().__init__(f"bad_secret: {reference} {problem}")


def header_text(secrets: Secrets, reference: str) -> str:
    """A secret that becomes part of a header.

    Raises:
        UnknownSecretError: if it does not exist.
        BadSecretError: if it is not valid in a header.
    """
    value = secret_text(secrets, reference)
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
