"""Which addresses of a provider may be used: https, or http on this machine. Pure."""

from urllib.parse import urlsplit

from shared.contracts.egress_policy import is_loopback


def is_safe(url: str) -> bool:
    """Whether what is read from a URL can be trusted to come from its host."""
    try:
        parts = urlsplit(url)
        host = parts.hostname or ""
    except ValueError:
        return False
    return bool(host) and (parts.scheme == "https" or (parts.scheme == "http" and is_loopback(host)))


def checked_issuer(issuer: str) -> str:
    """An issuer as it was set.

    Raises:
        ValueError: if it cannot be one, with the fix.
    """
    parts = urlsplit(issuer)
    if parts.scheme not in ("http", "https") or not parts.netloc or parts.query or parts.fragment:
        raise ValueError(
            f"{issuer!r} cannot be an issuer; write it as its tokens do, like https://login.example.com"
        )
    if not is_safe(issuer):
        raise ValueError(f"{issuer!r}: keys must not be read in the clear; use https")
    return issuer
