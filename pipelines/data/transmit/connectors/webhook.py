"""HTTP destinations: one POST a batch, in CloudEvents' JSON batch format."""

import asyncio
from collections.abc import Sequence
from contextlib import suppress
from typing import Final

import aiohttp

from pipelines.data.transmit.batching import body
from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.dial import RefusedAddressError
from pipelines.data.transmit.events import Event
from shared.contracts.config import Destination

CONTENT_TYPE: Final = "application/cloudevents-batch+json; charset=utf-8"
RESPONSE_BYTES: Final = 64 * 1024
"""How much of a response is read, to keep its connection alive; a longer one costs it its connection."""

DRAIN_SECONDS: Final = 0.5
"""How long the rest of a response may take, once its status is known."""

_REASON_CHARACTERS: Final = 300


class Webhook:
    """A destination that answers for a whole request at once."""

    def __init__(self, session: aiohttp.ClientSession) -> None:
        self._session = session

    async def send(
        self, destination: Destination, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """POST the events; the status line decides for all of them."""
        return [await self._post(destination, body(events), seconds)] * len(events)

    async def _post(self, destination: Destination, data: bytes, seconds: float) -> Answer:
        headers = {**destination.headers, "Content-Type": CONTENT_TYPE}
        answer: Answer | None = None
        try:
            async with (
                asyncio.timeout(seconds),
                self._session.post(
                    destination.url, data=data, headers=headers, allow_redirects=False
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
