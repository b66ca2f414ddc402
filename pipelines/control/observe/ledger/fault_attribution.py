"""Attributes failed deliveries to the customer or to hifi, by the tally's `status word`. Pure.

The words are those with which transmit's reasons begin.
"""

from collections.abc import Mapping
from typing import Final

from shared.contracts.http_statuses import RETRYABLE

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
    "foreign": "let the pipe name documents of its own tenant only",
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
    401: "correct the destination's key or signature",
    403: "give the key write permission",
    404: "correct the URL, or restore the endpoint",
    410: "the endpoint is gone for good: name another one",
    413: "allow larger requests at the endpoint",
}
_OTHER: Final = "correct what the endpoint refuses, then replay the dead letters"


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
        return "use the URL that it redirects to: redirects are not followed"
    if 400 <= code < 500 and code not in RETRYABLE:
        return _STATUSES.get(code, _OTHER)
    return None


def is_customer_fault(reason: str) -> bool:
    """Whether the customer can fix the cause of a dead letter; hifi is at fault for all others."""
    return customer_fix(reason) is not None
