"""Words with which reasons of retries and dead letters begin: transmit writes them, observe explains them."""

from enum import StrEnum
from typing import Final

EXISTS: Final = "exists"
"""The destination has what an earlier delivery wrote, and does not replace it."""

TIME_OVER: Final = "time_over"
"""An event that was tried for as long as events are; the rest of the reason has the last failure."""

INTERNAL: Final = "internal"
"""A defect of hifi's own, whatever it is; also where it lasted until the time was over."""


class ConnectionFailure(StrEnum):
    """Why no connection to a destination came about."""

    DNS = "dns_failed"
    """Its host name does not resolve."""

    CERTIFICATE_EXPIRED = "certificate_expired"
    CERTIFICATE_REFUSED = "certificate_refused"
    """Its certificate is for another host, not yet valid, or not signed by a known authority."""

    TLS = "tls_failed"
    """The TLS handshake fails before a certificate is seen."""

    REFUSED = "connection_refused"
    """Nothing listens at its address."""

    OTHER = "unreachable"
    """Any other cause, such as a connection that breaks off."""
