"""Requests to AWS and compatible services, signed by botocore and sent through the guarded session.

boto3's own clients are not used: they connect without checking the address, retry by themselves, and block a
thread that cannot be interrupted at the deadline.
"""

import asyncio
import dataclasses
import re
from collections.abc import Mapping
from concurrent.futures import Executor
from typing import Final

from botocore.auth import S3SigV4Auth, SigV4Auth
from botocore.awsrequest import AWSRequest
from botocore.credentials import Credentials

from pipelines.data.transmit.connectors.base import LARGE_BYTES, Answer
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse
from shared.contracts.reasons import ConnectionFailure

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
"""Statuses by AWS's error code, where AWS's own status is less precise."""


@dataclasses.dataclass(frozen=True, slots=True)
class Signer:
    """Signs with a customer's access key; hifi's own identity is never used for a destination."""

    service: str
    region: str
    access_key_id: str
    secret_access_key: str = dataclasses.field(repr=False)

    async def signed(self, request: HttpRequest, threads: Executor) -> HttpRequest:
        """The request with a version 4 signature; large bodies are hashed on a thread, 8 ms per MiB."""
        if len(request.body) < LARGE_BYTES:
            return self.sign(request)
        return await asyncio.get_running_loop().run_in_executor(threads, self.sign, request)

    def sign(self, request: HttpRequest) -> HttpRequest:
        """Sign the request on this thread."""
        found = AWSRequest(
            method=request.method, url=request.url, data=request.body, headers=dict(request.headers)
        )
        kind = S3SigV4Auth if self.service == "s3" else SigV4Auth
        key = Credentials(self.access_key_id, self.secret_access_key)
        kind(key, self.service, self.region).add_auth(found)
        return dataclasses.replace(request, headers=dict(found.headers.items()))


def failure(response: HttpResponse, code: str) -> Answer:
    """The answer for a failed request, by AWS's error code (such as `SlowDown`) or else by its status.

    AWS answers 400 to what it throttles, and to what came too slowly: without the code it says too little.
    """
    if response.status == 400 and response.cut_off and not code:
        return Answer(error=f"{ConnectionFailure.OTHER}: the answer broke off before AWS's error code")
    answer = response.answer(code)
    return dataclasses.replace(answer, status=status_of(code) or response.status)


def status_of(code: str) -> int | None:
    """The HTTP status for one of AWS's error codes; None if AWS's own status is right."""
    known = _STATUSES.get(code)
    return known or (429 if _THROTTLED.search(code) else None)
