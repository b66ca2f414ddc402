"""Whose fault a failed delivery is, by the `status word` that a tally groups it under. Pure.

The words are those that transmit begins its reasons with.
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
    "tls_needed": "let the destination speak TLS",
    "unknown_topic": "create the topic at the destination, or correct its name",
    "time_over": "mend the endpoint, then replay the dead letters",
}
_STATUSES: Final[Mapping[int, str]] = {
    401: "correct the destination's key or signature",
    403: "let the key write there",
    404: "correct the URL, or bring the endpoint back",
    410: "the endpoint is gone for good: name another one",
    413: "let the endpoint take larger requests",
}
_OTHER: Final = "mend what the endpoint refuses, then replay the dead letters"


def customer_fix(reason: str) -> str | None:
    """What a customer can do about a lasting failure that is theirs; None if it is not, or not lasting.

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
        return "name the address that it redirects to: redirects are not followed"
    if 400 <= code < 500 and code not in RETRYABLE:
        return _STATUSES.get(code, _OTHER)
    return None


def is_customer_fault(reason: str) -> bool:
    """Whether a dead letter of this reason is the customer's to mend; all others are hifi's own fault."""
    return customer_fix(reason) is not None
