"""Checks the URL of a customer's alarm webhook. Pure."""

from urllib.parse import urlsplit

from shared.contracts.egress_policy import Kind, literal, special


def webhook_problem(text: str) -> str:
    """The problem with a URL, and the fix; empty if it is valid.

    Only https is allowed, because alarms reveal the state of a customer's systems; http only to loopback,
    which only a local side dials.
    """
    try:
        url = urlsplit(text)
        host = url.hostname if url.port != 0 else None
    except ValueError as error:
        return f"is not a URL: {error}"
    if not host or not text.isprintable() or " " in text:
        return "is not a URL; write it like https://example.com/hifi, spaces as %20"
    if url.username is not None or url.password is not None:
        return "holds a user or a password; leave it out, and name a `secret`"
    address = literal(host)
    own_machine = address is not None and special(address) == Kind.LOOPBACK
    if url.scheme != "https" and not (url.scheme == "http" and own_machine):
        return "is not https; write it like https://example.com/hifi"
    return ""
