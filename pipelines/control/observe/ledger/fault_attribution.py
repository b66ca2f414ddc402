"""Attributes failed deliveries to the customer or to hifi, by the tally's `status word`. Pure.

The words are those with which transmit's reasons begin.
"""

from collections.abc import Mapping
from typing import Final, NamedTuple

from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.reasons import EXISTS, TIME_OVER, ConnectionFailure


class Remedy(NamedTuple):
    """The likely cause of a failure, and what the customer can do about it."""

    cause: str
    fix: str


_REMEDIES: Final[Mapping[str, Remedy]] = {
    "refused_address": Remedy("its address is not public", "give the destination a public address"),
    "bad_url": Remedy("its URL cannot be read", "correct the destination's URL"),
    "bad_options": Remedy("its options do not fit the connector", "correct the destination's options"),
    "unknown_connector": Remedy("there is no such connector", "correct the destination's connector"),
    "bad_pipe": Remedy(
        "the pipe's masks or its transform are not valid", "correct the pipe's masks or its transform"
    ),
    "mask_failed": Remedy("a mask does not fit the event", "correct the pipe's masks"),
    "transform_failed": Remedy("the transform does not fit the event", "correct the pipe's transform"),
    "unknown_pipe": Remedy("the pipe was deleted", "apply the pipe again, or replay its dead letters"),
    "unknown_destination": Remedy(
        "the destination was deleted", "apply the destination again, or name another one in the pipe"
    ),
    "foreign_secret": Remedy(
        "the destination names another tenant's secret", "name secrets of the destination's own tenant only"
    ),
    "secret_missing": Remedy("there is no such secret", "create the secret, or correct its name"),
    "bad_secret": Remedy("the secret's value cannot be used", "correct the secret's value"),
    "token_refused": Remedy(
        "the token endpoint refuses the credentials", "correct the credentials of the token endpoint"
    ),
    "token_unusable": Remedy(
        "what the token endpoint gives cannot be used", "correct the credentials of the token endpoint"
    ),
    "tls_needed": Remedy("it asks for credentials without TLS", "enable TLS at the destination"),
    "too_many_brokers": Remedy(
        "its Kafka cluster has more brokers than hifi connects to", "name a cluster with fewer brokers"
    ),
    "too_many_clusters": Remedy(
        "the tenant's destinations name more Kafka clusters, users or timeouts than hifi connects to at once",
        "let destinations share them",
    ),
    "unknown_topic": Remedy(
        "there is no such topic", "create the topic at the destination, or correct its name"
    ),
    EXISTS: Remedy(
        "the document is there already, and operation `create` does not replace it",
        "set the destination's operation to `index`, or delete the document; then replay the dead letter",
    ),
    TIME_OVER: Remedy("it failed for a day", "repair the endpoint, then replay the dead letters"),
}
_STATUSES: Final[Mapping[int, Remedy]] = {
    400: Remedy(
        "it does not accept the request",
        "compare a dead letter with what it expects, then correct the pipe's transform or the destination's "
        "format",
    ),
    401: Remedy(
        "the key is missing, has changed, or the signature does not match",
        "correct the destination's key or signature",
    ),
    403: Remedy(
        "the key has changed, or may not do this",
        "correct the destination's key, or give it permission to write",
    ),
    404: Remedy("the endpoint has moved or is gone", "correct the URL, or restore the endpoint"),
    410: Remedy("the endpoint is gone for good", "name another one"),
    413: Remedy(
        "a single event is too large for it (larger requests are halved until they fit)",
        "allow larger requests at the endpoint, or let the pipe's transform make the event smaller",
    ),
    415: Remedy("it does not accept the content type", "choose another format of the destination"),
    422: Remedy("its schema refuses the event", "correct the pipe's transform, or the schema"),
}
_REDIRECTED: Final = Remedy(
    "the endpoint has moved", "use the URL that it redirects to: redirects are not followed"
)
_OTHER: Final = Remedy(
    "it refuses the event", "correct what the endpoint refuses, then replay the dead letters"
)
_CONNECTIONS: Final[Mapping[str, Remedy]] = {
    ConnectionFailure.DNS: Remedy(
        "its host name does not resolve", "correct the URL, or restore the DNS record"
    ),
    ConnectionFailure.CERTIFICATE_EXPIRED: Remedy("its TLS certificate has expired", "renew it"),
    ConnectionFailure.CERTIFICATE_REFUSED: Remedy(
        "its TLS certificate is not for this host, or not signed by a public authority",
        "serve a valid one, with its intermediates",
    ),
    ConnectionFailure.TLS: Remedy("it does not speak TLS on this port", "enable TLS, or correct the URL"),
    ConnectionFailure.REFUSED: Remedy(
        "nothing listens at its address", "start the endpoint, or correct the URL"
    ),
}

_SILENT: Final = frozenset({*ConnectionFailure, "timeout", "breaker_open", "bad_answer"})
"""Words of tries without an answer that can be read."""


def customer_remedy(reason: str) -> Remedy | None:
    """Cause and fix of a failure that the customer can repair, whether hifi goes on trying or not.

    None for all others, and for connections that fail: see `connection_remedy`.

    Args:
        reason: such as `404 refused` or `- transform_failed`.
    """
    status, _, word = reason.partition(" ")
    if word in _REMEDIES:
        return _REMEDIES[word]
    if not (status.isascii() and status.isdigit()):
        return None
    code = int(status)
    if 300 <= code < 400:
        return _REDIRECTED
    if 400 <= code < 500 and code not in RETRYABLE:
        return _STATUSES.get(code, _OTHER)
    return None


def connection_remedy(reason: str) -> Remedy | None:
    """Likely cause and fix of a connection that fails for good; None for other reasons.

    hifi goes on trying: such an event is not a dead letter yet, and the cause may pass by itself.
    """
    return _CONNECTIONS.get(reason.partition(" ")[2])


def failed_at_destination(reason: str) -> bool:
    """Whether a try failed for what a destination answered, or because it did not.

    Args:
        reason: of a retry, such as `503 failed` or `- timeout`. hifi itself says `deadline` and `busy`.
    """
    status, _, word = reason.partition(" ")
    answered = status.isascii() and status.isdigit()
    return answered or word in _SILENT or customer_remedy(reason) is not None


def is_customer_fault(reason: str) -> bool:
    """Whether the customer can fix the cause of a dead letter; hifi is at fault for all others."""
    return customer_remedy(reason) is not None
