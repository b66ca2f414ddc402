"""HTTP destinations: one POST per batch, in one of four formats, optionally signed and authorised."""

import asyncio
import hashlib
from collections.abc import Mapping, Sequence
from functools import partial
from typing import Final

from pipelines.data.transmit.connectors.base import LARGE_BYTES, Answer, ConnectorContext, ConnectorType
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse, send_for_status
from pipelines.data.transmit.connectors.http.credentials import BadSecretError, basic, bearer, header_text
from pipelines.data.transmit.connectors.http.formats import Content, content
from pipelines.data.transmit.connectors.http.oauth2 import TokenCache, TokenError
from pipelines.data.transmit.events import Event
from shared.connectors.http_auth import Basic, Bearer, OAuth2
from shared.connectors.webhook import SPEC, Options, Signing
from shared.contracts import signing
from shared.contracts.documents import Destination
from shared.contracts.secrets import SCHEME, UnknownSecretError, secret_text


class Webhook:
    """Sends to endpoints, which answer for a whole request."""

    def __init__(self, context: ConnectorContext) -> None:
        self._session = context.session
        self._secrets = context.secrets
        self._clock = context.clock
        self._threads = context.threads
        self._tokens = TokenCache(context.session, context.secrets, context.clock)

    async def send(
        self, destination: Destination, options: Options, events: Sequence[Event], seconds: float
    ) -> Sequence[Answer]:
        """POST the events; the status line decides for all of them."""
        return [await self._answer(options, events, seconds)] * len(events)

    async def close(self) -> None:
        """Cancel pending token requests; the connections belong to the session."""
        await self._tokens.close()

    async def _answer(self, options: Options, events: Sequence[Event], seconds: float) -> Answer:
        loop = asyncio.get_running_loop()
        until = loop.time() + seconds
        found = content(options.format, events)
        try:
            headers = self._headers(options, found)
            if options.signing:
                headers |= await self._signature(options.signing, events, found.body)
            token = await self._token(options, seconds)
            response = await self._post(options, found, headers | token, until - loop.time())
            if (
                isinstance(options.auth, OAuth2)
                and isinstance(response, HttpResponse)
                and response.status == 401
            ):
                self._tokens.refused(options.auth, token["Authorization"].partition(" ")[2])
                token = await self._token(options, until - loop.time())
                response = await self._post(options, found, headers | token, until - loop.time())
        except (UnknownSecretError, BadSecretError) as error:
            return Answer(error=str(error), later=True)
        except TokenError as error:
            return error.answer
        except TimeoutError:
            return Answer(error=f"timeout: no token within {seconds:.1f} s")
        return response if isinstance(response, Answer) else response.answer()

    async def _post(
        self, options: Options, found: Content, headers: Mapping[str, str], seconds: float
    ) -> HttpResponse | Answer:
        request = HttpRequest(url=options.url, headers=headers, body=found.body)
        return await send_for_status(self._session, request, seconds)

    async def _token(self, options: Options, seconds: float) -> dict[str, str]:
        """The Authorization header of OAuth2, for which a token may have to be requested."""
        if not isinstance(options.auth, OAuth2):
            return {}
        async with asyncio.timeout(seconds):
            return {"Authorization": bearer(await self._tokens.get(options.auth))}

    def _headers(self, options: Options, found: Content) -> dict[str, str]:
        headers = {name: self._value(text) for name, text in options.headers.items()}
        headers["Content-Type"] = found.content_type
        match options.auth:
            case Bearer(token=token):
                headers["Authorization"] = bearer(header_text(self._secrets, token))
            case Basic(username=username, password=password):
                headers["Authorization"] = basic(username, secret_text(self._secrets, password))
        return headers

    def _value(self, text: str) -> str:
        return header_text(self._secrets, text) if text.startswith(SCHEME) else text

    async def _signature(self, how: Signing, events: Sequence[Event], body: bytes) -> dict[str, str]:
        """The headers that sign a request; each key hashes the body, on a thread if that takes long."""
        keys = [self._key(reference) for reference in how.keys]
        sign = partial(signing.signed, keys, message_id(events), self._clock() // 1000, body)
        if len(keys) * len(body) < LARGE_BYTES:
            return sign()
        return await asyncio.get_running_loop().run_in_executor(self._threads, sign)

    def _key(self, reference: str) -> bytes:
        try:
            return signing.key_of(secret_text(self._secrets, reference))
        except ValueError as error:
            raise BadSecretError(reference, str(error)) from None


def message_id(events: Sequence[Event]) -> str:
    """The id that the signature covers: the same for the same events, whenever they are sent.

    It is another one for events of a replay: a receiver that drops repeats by it would keep the bad ones.
    """
    return "msg_" + hashlib.sha256(b"".join([event.dedup_key for event in events])).hexdigest()[:32]


async def _open(context: ConnectorContext) -> Webhook:
    return Webhook(context)


CONNECTOR: Final = ConnectorType(spec=SPEC, open=_open)
