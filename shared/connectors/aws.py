"""Options that destinations on AWS, and on services that speak like it, have in common."""

from collections.abc import Iterator
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta

from shared.connectors.spec import OptionFault, OptionHost
from shared.contracts.documents import SecretRef

Region = Annotated[
    str,
    Meta(
        pattern=r"^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$(?!\n)", description="an AWS region, for example eu-west-1"
    ),
]
AccessKeyId = Annotated[
    str, Meta(pattern=r"^[A-Za-z0-9_]{8,128}$(?!\n)", description="id of an access key, for example AKIA...")
]
SecretKey = Annotated[SecretRef, Meta(description="the key's secret by name, for example secret://acme/aws")]
Endpoint = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s?#]+$(?!\n)",
        description="URL of a service that speaks like AWS; leave it out for AWS itself",
    ),
]
_URL_FIX: Final = "write it like https://storage.example.com"


def endpoint_faults(endpoint: str | None) -> Iterator[OptionFault]:
    """Problems of an endpoint."""
    if endpoint is None:
        return
    try:
        url = urlsplit(endpoint)
        user = url.username or url.password is not None
        usable = bool(url.hostname) and url.port != 0 and not user
    except ValueError as error:
        yield "$.endpoint", f"is not a URL: {error}", _URL_FIX
        return
    if not usable:
        yield "$.endpoint", "is not a URL", _URL_FIX


def endpoint_hosts(endpoint: str | None) -> Iterator[OptionHost]:
    """Hosts that will be dialled besides AWS."""
    if endpoint is not None:
        yield "$.endpoint", urlsplit(endpoint).hostname or ""
