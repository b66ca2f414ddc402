"""Attributes failed deliveries to the customer or to hifi, by the tally's `status word`. Pure.

The words are those with which transmit's reasons begin.
"""

from collections.abc import Mapping
from typing import Final

from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.reasons import ConnectionFailure

_FIXES: Final[Mapping[str, str]] = {
    "refused_address": "give the destination a public address",
    "bad_url": "correct the destination's URL",
    "bad_options": "correct the destination's options",
    "unknown_connector": "correct the destination's connector",
    "bad_pipe": "correct the pipe's masks or its transform",
    "mask_failed": "correct the pipe's masks",
    "transform_failed": "correct the pipe's transform",
    "unknown_pipe": "apply the pipe again, or replay its dead letters",
    "unknown_destination": "apply the destination again, or name another one in the pipe",
    "foreign_secret": "name secrets of the destination's own tenant only",
    "secret_missing": "create the secret, or correct its name",
    "bad_secret": "correct the secret's value",
    "token_refused": "correct the credentials of the token endpoint",
    "token_unusable": "correct the credentials of the token endpoint",
    "tls_needed": "enable TLS at the destination",
    "unknown_topic": "create the topic at the destination, or correct its name",
    "time_over": "repair the endpoint, then replay the dead letters",
}
_STATUSES: Final[Mapping[int, str]] = {
    400: "it does not accept the request: compare a dead letter with what it expects, then correct the "
    "pipe's transform or the destination's format",
    401: "the key is missing, has changed, or the signature does not match: correct the destination's key "
    "or signature",
    403: "the key may not do this: give it write permission",
    404: "the endpoint has moved or is gone: correct the URL, or restore the endpoint",
    410: "the endpoint is gone for good: name another one",
    413: "the request is too large: allow larger ones at the endpoint, or lower the destination's batch",
    415: "it does not accept the content type: choose another format of the destination",
    422: "its schema refuses the event: correct the pipe's transform, or the schema",
}
_REDIRECTED: Final = "the endpoint has moved: use the URL that it redirects to: redirects are not followed"
_OTHER: Final = "correct what the endpoint refuses, then replay the dead letters"
_CONNECTIONS: Final[Mapping[str, str]] = {
    ConnectionFailure.DNS: "its host name does not resolve: correct the URL, or restore the DNS record",
    ConnectionFailure.CERTIFICATE_EXPIRED: "its TLS certificate has expired: renew it",
    ConnectionFailure.CERTIFICATE_REFUSED: "its TLS certificate is not for this host, or not signed by a "
    "public authority: serve a valid one, with its intermediates",
    ConnectionFailure.TLS: "it does not speak TLS on this port: enable TLS, or correct the URL",
    ConnectionFailure.REFUSED: "nothing listens at its address: start the endpoint, or correct the URL",
}


def customer_fix(reason: str) -> str | None:
    """How the customer can fix a permanent failure; None if it is not theirs or not permanent.

    Args:
        reason: such as `404 refused` or `- transform_failed`.
    """
    status, _, word = reason.partition(" ")
    if word in _FIXES:
        return _FIXES[word]
    if not (status.isascii() and status.isdigit()):
        return None
    code = int(status)
    if 300 <= code < 400:
        return _REDIRECTED
    if 400 <= code < 500 and code not in RETRYABLE:
        return _STATUSES.get(code, _OTHER)
    return None


def connection_fix(reason: str) -> str | None:
    """How the customer can likely fix a connection that fails for good; None for other reasons.

    hifi goes on trying: such an event is no dead letter yet, and the cause may pass by itself.
    """
    return _CONNECTIONS.get(reason.partition(" ")[2])


def is_customer_fault(reason: str) -> bool:
    """Whether the customer can fix the cause of a dead letter; hifi is at fault for all others."""
    return customer_fix(reason) is not None
