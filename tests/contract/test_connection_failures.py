"""Connection failures are described in the words that observe explains to customers."""

import asyncio
import datetime
import ssl

import aiohttp
import pytest

from pipelines.data.transmit.connectors.http.client import HttpRequest, send_for_status
from shared.contracts.reasons import ConnectionFailure
from tests.contract.answer_acts import certificate_of_itself, serving


async def error_of(left: datetime.timedelta, host: str) -> str:
    """The error of a request to a server with a trusted certificate of the given validity."""
    certificate = certificate_of_itself(left)
    trust = ssl.create_default_context(cadata=certificate.decode().partition("-----BEGIN PRIVATE")[0])
    server = await asyncio.start_server(lambda _, w: w.close(), "127.0.0.1", ssl=serving(certificate))
    port = server.sockets[0].getsockname()[1]
    request = HttpRequest(url=f"https://{host}:{port}/", headers={}, body=b"{}")
    async with server, aiohttp.ClientSession(connector=aiohttp.TCPConnector(ssl=trust)) as session:
        answer = await send_for_status(session, request, 60)
    return getattr(answer, "error", "")


@pytest.mark.parametrize(
    ("left", "host", "word"),
    [
        (datetime.timedelta(days=-1), "127.0.0.1", ConnectionFailure.CERTIFICATE_EXPIRED),
        (datetime.timedelta(days=1), "localhost", ConnectionFailure.CERTIFICATE_REFUSED),
    ],
)
def test_a_certificate_that_has_expired_is_told_from_one_for_another_host(
    left: datetime.timedelta, host: str, word: ConnectionFailure
) -> None:
    error = asyncio.run(error_of(left, host))
    assert error.startswith(f"{word}: "), error
