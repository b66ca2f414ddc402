"""HTTP requests through the guarded session, and what it means when there is no response."""

import asyncio
import errno
import re
from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import Final, TypeVar

import aiohttp
import msgspec
from yarl import URL

from pipelines.data.transmit.connectors.base import Answer
from shared.contracts.reasons import ConnectionFailure
from shared.runtime.egress import RefusedAddressError

RESPONSE_BYTES: Final = 64 * 1024
"""How much of a response is read, unless the caller expects more. A longer one costs it its connection."""

DRAIN_SECONDS: Final = 0.5
"""How long the rest of a response may take, once its status is known."""

_REASON_CHARACTERS: Final = 300
_EXPIRED: Final = 10
"""X509_V_ERR_CERT_HAS_EXPIRED of OpenSSL."""

_ERROR_CODE: Final = re.compile(r"[A-Za-z_]{1,80}")

Item = TypeVar("Item")


@dataclass(frozen=True, slots=True, kw_only=True)
class HttpRequest:
    """A request to send: method, URL, headers and body."""

    method: str = "POST"
    url: str
    headers: Mapping[str, str]
    """All but those of the session."""

    body: bytes
    option: str = "url"
    """The option in which the customer gave the URL."""


@dataclass(frozen=True, slots=True)
class HttpResponse:
    """The server's response: status, headers and body."""

    status: int
    headers: Mapping[str, str]
    """Names in any case."""

    body: bytes
    """The part of the body that was asked for and that came in time."""

    cut_off: bool = False
    """Whether more of the body was to come."""

    @property
    def ok(self) -> bool:
        """Whether the status is a success."""
        return 200 <= self.status < 300

    @property
    def retry_after(self) -> str | None:
        """The Retry-After header as received."""
        return self.headers.get("Retry-After")

    def answer(self, code: str = "") -> Answer:
        """The response as the answer for one event; `code` is the destination's name for the error."""
        return Answer(status=self.status, retry_after=self.retry_after, detail=error_code(code))


async def send_for_status(
    session: aiohttp.ClientSession, request: HttpRequest, seconds: float
) -> HttpResponse | Answer:
    """Send once for the status: once it is known it counts, whatever happens to the body or this call.

    Args:
        session: a guarded one; no redirect is followed.
        request: its URL is quoted where that is needed.
        seconds: for connect, send and read together.

    Returns:
        The response, or why there is none.
    """
    found: HttpResponse | None = None
    try:
        async with (
            asyncio.timeout(seconds),
            session.request(
                request.method, request.url, data=request.body, headers=request.headers, allow_redirects=False
            ) as response,
        ):
            found = HttpResponse(response.status, response.headers, b"", cut_off=True)
            found = await _drained(response)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        return found or no_response(error, request.option, seconds)
    except asyncio.CancelledError:  # without the status the events would be sent again
        if found is None:
            raise
    return found


async def send_for_body(
    session: aiohttp.ClientSession, request: HttpRequest, seconds: float, most_bytes: int = RESPONSE_BYTES
) -> HttpResponse | Answer:
    """Send once for the body as well as the status: a success without its whole body is not a response.

    An error is one by its status, once that is known, whatever happens to the body or this call.

    Args:
        session: a guarded one; no redirect is followed.
        request: its URL is sent as it is written.
        seconds: for connect, send and read together.
        most_bytes: more of a success's body is not read.

    Returns:
        The response, or why there is none.
    """
    failed: HttpResponse | None = None
    try:
        async with (
            asyncio.timeout(seconds),
            session.request(
                request.method,
                URL(request.url, encoded=True),
                data=request.body,
                headers=request.headers,
                allow_redirects=False,
            ) as response,
        ):
            found = HttpResponse(response.status, response.headers, b"", cut_off=True)
            if found.ok:
                return HttpResponse(response.status, response.headers, await _read(response, most_bytes))
            failed = found
            failed = await _drained(response)
    except (TimeoutError, aiohttp.ClientError, OSError, ValueError) as error:
        return failed or no_response(error, request.option, seconds)
    except asyncio.CancelledError:  # without the status the events would be sent again
        if failed is None:
            raise
    return failed


def answers_by_item(
    response: HttpResponse,
    events: int,
    items: Callable[[bytes], Sequence[Item]],
    answer: Callable[[Item], Answer],
) -> list[Answer]:
    """An answer for each event, from a successful response that has an item for each.

    Args:
        response: the one to the request with the events.
        events: how many were sent.
        items: decodes the response's body; may raise as msgspec's decoders do.
        answer: of one item.
    """
    try:
        found = items(response.body)
    except (msgspec.MsgspecError, UnicodeDecodeError, RecursionError):
        found = []
    if len(found) != events:
        error = f"bad_answer: the destination answered {response.status}, but not for each event"
        return [Answer(error=error)] * events
    return [answer(item) for item in found]


def no_response(error: Exception, option: str, seconds: float) -> Answer:
    """The answer for a request that failed with `error` within `seconds`; `option` names its URL."""
    if isinstance(error, TimeoutError):
        return Answer(error=f"timeout: no answer within {seconds:.1f} s")
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return Answer(error=clean(f"bad_url: `{option}` cannot be used: {error}"), hopeless=True)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, RefusedAddressError):
        return Answer(error=f"refused_address: `{option}` {cause}", hopeless=True)
    if isinstance(error, aiohttp.ClientResponseError):  # quotes what came, and that may be what was sent
        return Answer(error=f"{ConnectionFailure.OTHER}: the answer is not HTTP")
    return Answer(error=clean(f"{_failure(error)}: {type(error).__name__}: {error}"))


def _failure(error: Exception) -> ConnectionFailure:
    match error:
        case aiohttp.ClientConnectorDNSError():
            return ConnectionFailure.DNS
        case aiohttp.ClientConnectorCertificateError(certificate_error=cause):
            expired = getattr(cause, "verify_code", None) == _EXPIRED
            return ConnectionFailure.CERTIFICATE_EXPIRED if expired else ConnectionFailure.CERTIFICATE_REFUSED
        case aiohttp.ClientConnectorSSLError():
            return ConnectionFailure.TLS
        case aiohttp.ClientConnectorError(os_error=cause) if cause.errno == errno.ECONNREFUSED:
            return ConnectionFailure.REFUSED
    return ConnectionFailure.OTHER


def clean(text: str) -> str:
    """A reason that can be written: what a hostile server made the client say may hold lone surrogates."""
    return text[:_REASON_CHARACTERS].encode(errors="replace").decode()


def error_code(text: object) -> str:
    """A destination's own name for an error, if it is one word; otherwise empty.

    Never a sentence, which may hold data, nor digits: a server may say what it was sent, a key."""
    return text if isinstance(text, str) and _ERROR_CODE.fullmatch(text) else ""


async def _drained(response: aiohttp.ClientResponse) -> HttpResponse:
    """Read a short response to its end, so that its connection can be used again; drop any other."""
    parts: list[bytes] = []
    left = RESPONSE_BYTES
    with suppress(TimeoutError, aiohttp.ClientError, OSError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0 and not response.content.at_eof():
                parts.append(await response.content.read(left))
                left -= len(parts[-1])
    if cut_off := not response.content.at_eof():
        response.close()
    return HttpResponse(response.status, response.headers, b"".join(parts), cut_off)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, or its beginning; a connection with more on it is not used again."""
    found = bytearray()
    while len(found) < most and not response.content.at_eof():
        found += await response.content.read(most - len(found))
    if not response.content.at_eof():
        response.close()
    return bytes(found)
