"""One HTTP request of any method whose answer's body matters as much as its status does."""

import asyncio
import re
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Final

import aiohttp
from yarl import URL

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import no_answer

MOST_BYTES: Final = 64 * 1024
"""Of an answer's body, where its reader does not expect more."""

_WORD: Final = re.compile(r"[A-Za-z_]{1,80}")


@dataclass(frozen=True, slots=True)
class Request:
    """What to send."""

    method: str
    url: str
    """Sent as it is written: what needs quotes has them."""

    headers: Mapping[str, str]
    data: bytes
    option: str = "endpoint"
    """The name under which the customer gave the URL."""


@dataclass(frozen=True, slots=True)
class Reply:
    """What came back."""

    status: int
    retry_after: str | None
    headers: Mapping[str, str]
    body: bytes
    """As much of it as was asked for, and as came in time."""

    @property
    def ok(self) -> bool:
        """Whether the status says that it was done."""
        return 200 <= self.status < 300

    def answer(self, detail: str = "") -> Answer:
        """The same for one event."""
        return Answer(status=self.status, retry_after=self.retry_after, detail=word(detail))


async def exchange(
    session: aiohttp.ClientSession, request: Request, seconds: float, most_bytes: int = MOST_BYTES
) -> Reply | Answer:
    """Send once and read the answer; what kept one from coming is an Answer.

    Args:
        session: of `dial.open_session`.
        request: what to send.
        seconds: over all of it.
        most_bytes: more of the answer's body is not read.
    """
    try:
        async with (
            asyncio.timeout(seconds),
            session.request(
                request.method,
                URL(request.url, encoded=True),
                data=request.data,
                headers=request.headers,
                allow_redirects=False,
            ) as response,
        ):
            return Reply(
                response.status,
                response.headers.get("Retry-After"),
                response.headers,
                await _read(response, most_bytes),
            )
    except TimeoutError:
        return Answer(error=f"timeout: no answer within {seconds:.1f} s")
    except (aiohttp.ClientError, OSError, ValueError) as error:
        return no_answer(error, request.option)


async def _read(response: aiohttp.ClientResponse, most: int) -> bytes:
    """The body, or its beginning; a connection with more on it is not used again."""
    found = bytearray()
    while len(found) < most and not response.content.at_eof():
        found += await response.content.read(most - len(found))
    if not response.content.at_eof():
        response.close()
    return bytes(found)


def word(text: object) -> str:
    """A destination's own word for what is wrong, if it is one.

    Never a sentence, which may hold data, nor digits: a server may say what it was sent, a key."""
    return text if isinstance(text, str) and _WORD.fullmatch(text) else ""
