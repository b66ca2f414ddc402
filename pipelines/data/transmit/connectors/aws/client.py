"""Requests to AWS, or to what speaks like it, signed by botocore and sent through the guarded session.

Not boto3's own clients: they open connections without a check of the address, try again by themselves, and
block a thread that nobody can take back when its time is over.
"""

import asyncio
import dataclasses
import re
from collections.abc import Iterator, Mapping
from typing import Annotated, Final
from urllib.parse import urlsplit

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials
from msgspec import Meta

from pipelines.data.transmit.connectors.base import Answer, PathText
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse
from shared.contracts.documents import SecretRef

Region = Annotated[
    str, Meta(pattern="^[a-z]{2}(-[a-z]+)+-[0-9]{1,2}$", description="an AWS region, for example eu-west-1")
]
AccessKeyId = Annotated[
    str, Meta(pattern="^[A-Za-z0-9_]{8,128}$", description="id of an access key, for example AKIA...")
]
SecretKey = Annotated[SecretRef, Meta(description="the key's secret by name, for example secret://acme/aws")]
Endpoint = Annotated[
    str,
    Meta(
        pattern=r"^https?://[^\s?#]+$",
        description="URL of a service that speaks like AWS; leave it out for AWS itself",
    ),
]

_LARGE: Final = 128 * 1024
"""Bytes whose hash takes longer than the way to a thread."""

_THROTTLED: Final = re.compile("Throttl|SlowDown|LimitExceeded|ProvisionedThroughputExceeded|TooManyRequests")
_STATUSES: Final[Mapping[str, int]] = {
    "RequestTimeout": 408,
    "RequestTimeTooSkewed": 503,
    "InternalError": 500,
    "InternalFailure": 500,
    "ServiceUnavailable": 503,
    "InvalidSignatureException": 401,
    "UnrecognizedClientException": 401,
    "AccessDeniedException": 403,
    "ResourceNotFoundException": 404,
    "ResourceInUseException": 503,
    "KMSThrottlingException": 429,
}
"""Where AWS's status says less than its word for the error does."""


@dataclasses.dataclass(frozen=True, slots=True)
class Signer:
    """Signs by a customer's access key. hifi's own identity is never used for a customer's destination."""

    service: str
    region: str
    access_key_id: str
    secret_access_key: str = dataclasses.field(repr=False)

    async def signed(self, request: HttpRequest) -> HttpRequest:
        """The request with a signature of version 4; a large one is hashed on a thread, 8 ms a MiB."""
        if len(request.body) < _LARGE:
            return self.sign(request)
        return await asyncio.to_thread(self.sign, request)

    def sign(self, request: HttpRequest) -> HttpRequest:
        """The same, here and now."""
        found = AWSRequest(
            method=request.method, url=request.url, data=request.body, headers=dict(request.headers)
        )
        kind = S3SigV4Auth if self.service == "s3" else SigV4Auth
        key = Credentials(self.access_key_id, self.secret_access_key)
        kind(key, self.service, self.region).add_auth(found)
        return dataclasses.replace(request, headers=dict(found.headers.items()))


def failure(response: HttpResponse, code: str) -> Answer:
    """A failure of a whole request, by AWS's word for it (`SlowDown`) as well as by its status."""
    answer = response.answer(code)
    return dataclasses.replace(answer, status=status_of(code) or response.status)


def status_of(code: str) -> int | None:
    """The HTTP status that fits AWS's word for an error; None for those whose own status does."""
    known = _STATUSES.get(code)
    return known or (429 if _THROTTLED.search(code) else None)


def endpoint_faults(endpoint: str | None) -> Iterator[PathText]:
    """What `hifi apply` refuses of an endpoint."""
    if endpoint is None:
        return
    try:
        url = urlsplit(endpoint)
        usable = bool(url.hostname) and url.port != 0 and not url.username
    except ValueError as error:
        yield "$.endpoint", f"is not a URL: {error}"
        return
    if not usable:
        yield "$.endpoint", "is not a URL; write it like https://storage.example.com"


def endpoint_hosts(endpoint: str | None) -> Iterator[PathText]:
    """What will be dialled beside AWS."""
    if endpoint is not None:
        yield "$.endpoint", urlsplit(endpoint).hostname or ""
