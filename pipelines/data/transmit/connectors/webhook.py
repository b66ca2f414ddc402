"""HTTP destinations: one POST a batch, in CloudEvents' JSON batch format."""

import asyncio
import re
from collections.abc import Iterator, Sequence
from contextlib import suppress
from typing import Annotated, Final
from urllib.parse import urlsplit

import aiohttp
from msgspec import Meta, Struct

from pipelines.data.transmit.batching import body
from pipelines.data.transmit.connectors.base import Answer, Context, Kind, Place
from pipelines.data.transmit.dial import RefusedAddressError
from pipelines.data.transmit.events import Event
from shared.contracts.config import Destination

CONTENT_TYPE: Final = "application/cloudevents-batch+json; charset=utf-8"
RESPONSE_BYTES: Final = 64 * 1024
"""How much of a response is read, to keep its connection alive; a longer one costs it its connection."""

DRAIN_SECONDS: Final = 0.5
"""How long the rest of a response may take, once its status is known."""

_REASON_CHARACTERS: Final = 300
_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_OWN_HEADERS: Final = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "host"}
)


class Options(Struct, kw_only=True, frozen=True):
    """How to reach an HTTP endpoint."""

    url: Annotated[
        str, Meta(pattern=r"^https?://", description="where to POST, for example https://example.com/hook")
    ]
    headers: Annotated[
        dict[str, str], Meta(description="further headers of each request, for example {X-Team: blue}")
    ] = {}


class Webhook:
    """A destination that answers for a whole request at once."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """POST the events; the status line decides for all of them."""
        return [await self._post(options, body(events), seconds)] * len(events)

    async def close(self) -> None:
        """Nothing: the connections are the session's."""

    async def _post(self, options: Options, data: bytes, seconds: float) -> Answer:
        headers = {**options.headers, "Content-Type": CONTENT_TYPE}
        answer: Answer | None = None
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.post(
                    options.url, data=data, headers=headers, allow_redirects=False
                ) as response,
            ):
                answer = Answer(status=response.status, retry_after=response.headers.get("Retry-After"))
                await _drain(response)
        except TimeoutError:
            return answer or Answer(error=f"timeout: no answer within {seconds:.1f} s")
        except (aiohttp.ClientError, OSError, ValueError) as error:
            return answer or _failure(error)
        return answer


def _failure(error: Exception) -> Answer:
    """What it means that there is no answer."""
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return Answer(error=_clean(f"bad_url: `url` cannot be used: {error}"), hopeless=True)
    if isinstance(error, aiohttp.ClientConnectorError) and isinstance(error.os_error, RefusedAddressError):
        return Answer(error=f"refused_address: {error.os_error}", hopeless=True)
    return Answer(error=_clean(f"unreachable: {type(error).__name__}: {error}"))


def _clean(text: str) -> str:
    """A reason that can be written: what a hostile server made the client say may hold lone surrogates."""
    return text[:_REASON_CHARACTERS].encode(errors="replace").decode()


async def _drain(response: aiohttp.ClientResponse) -> None:
    """Read a short response to its end, so that its connection can be used again; drop any other."""
    left = RESPONSE_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0 and not response.content.at_eof():
                left -= len(await response.content.read(left))
    if not response.content.at_eof():
        response.close()


async def _open(context: Context) -> Webhook:
    return Webhook(context.session)


def _faults(options: Options) -> Iterator[Place]:
    try:
        url = urlsplit(options.url)
        usable = bool(url.hostname) and url.port != 0
    except ValueError as error:
        yield "$.url", f"is no URL: {error}"
        return
    if not usable or re.search(r"[\s\x00-\x1f]", options.url):
        yield "$.url", "is no URL; write it like https://example.com/events, spaces as %20"
    for name, value in options.headers.items():
        yield from _header_faults(name, value)


def _header_faults(name: str, value: str) -> Iterator[Place]:
    path = f"$.headers.{name}"
    if not _HEADER_NAME.fullmatch(name):
        yield path, "is no name of an HTTP header; use letters, digits and hyphens"
    elif name.lower() in _OWN_HEADERS:
        yield path, "is set by hifi itself; leave it out"
    if not _HEADER_VALUE.fullmatch(value):
        yield path, "holds a line break or a character outside ASCII; encode it"


def _hosts(options: Options) -> Iterator[Place]:
    yield "$.url", urlsplit(options.url).hostname or ""


def _summary(options: Options) -> str:
    return options.url


CONNECTOR: Final = Kind(options=Options, open=_open, faults=_faults, hosts=_hosts, summary=_summary)
