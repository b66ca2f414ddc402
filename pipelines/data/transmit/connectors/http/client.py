"""One HTTP request through the guarded session, and what it means when there is no answer."""

import asyncio
from collections.abc import Mapping
from contextlib import suppress
from dataclasses import dataclass
from typing import Final

import aiohttp

from pipelines.data.transmit.connectors.base import Answer
from shared.runtime.egress import RefusedAddressError

RESPONSE_BYTES: Final = 64 * 1024
"""How much of a response is read, to keep its connection alive; a longer one costs it its connection."""

DRAIN_SECONDS: Final = 0.5
"""How long the rest of a response may take, once its status is known."""

_REASON_CHARACTERS: Final = 300


@dataclass(frozen=True, slots=True)
class Request:
    """What is sent, and where to."""

    url: str
    body: bytes
    headers: Mapping[str, str]
    """All but those of the session."""

    option: str = "url"
    """The name under which the customer gave the URL."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What a server said."""

    status: int
    retry_after: str | None
    body: bytes
    """As much of it as came in time, RESPONSE_BYTES at most."""


async def post(session: aiohttp.ClientSession, request: Request, seconds: float) -> Reply | Answer:
    """POST once; no redirect is followed. Once a status is known it counts, whatever the body does.

    Args:
        session: a guarded one.
        request: what and where to.
        seconds: the request is over, connect, send and read included, when these have passed.

    Returns:
        The reply, or why there is none.
    """
    reply: Reply | None = None
    try:
        async with (
            asyncio.timeout(seconds),
            session.post(
                request.url, data=request.body, headers=request.headers, allow_redirects=False
            ) as response,
        ):
            after = response.headers.get("Retry-After")
            reply = Reply(response.status, after, b"")
            reply = Reply(response.status, after, await _drained(response))
    except TimeoutError:
        return reply or Answer(error=f"timeout: no answer within {seconds:.1f} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return reply or no_answer(error, request.option)
    return reply


def no_answer(error: Exception, option: str) -> Answer:
    """What it means that there is no answer."""
    if isinstance(error, aiohttp.InvalidURL | aiohttp.NonHttpUrlClientError):
        return Answer(error=clean(f"bad_url: `{option}` cannot be used: {error}"), hopeless=True)
    cause = error.os_error if isinstance(error, aiohttp.ClientConnectorError) else error
    if isinstance(cause, RefusedAddressError):
        return Answer(error=f"refused_address: `{option}` {cause}", hopeless=True)
    if isinstance(error, aiohttp.ClientResponseError):  # quotes what came, and that may be what was sent
        return Answer(error="unreachable: the answer is not HTTP")
    return Answer(error=clean(f"unreachable: {type(error).__name__}: {error}"))


def clean(text: str) -> str:
    """A reason that can be written: what a hostile server made the client say may hold lone surrogates."""
    return text[:_REASON_CHARACTERS].encode(errors="replace").decode()


async def _drained(response: aiohttp.ClientResponse) -> bytes:
    """Read a short response to its end, so that its connection can be used again; drop any other."""
    parts: list[bytes] = []
    left = RESPONSE_BYTES
    with suppress(TimeoutError):
        async with asyncio.timeout(DRAIN_SECONDS):
            while left > 0 and not response.content.at_eof():
                parts.append(await response.content.read(left))
                left -= len(parts[-1])
    if not response.content.at_eof():
        response.close()
    return b"".join(parts)
