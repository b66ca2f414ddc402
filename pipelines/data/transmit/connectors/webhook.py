"""HTTP destinations: one POST per batch, in one of four formats, optionally signed and authorised."""

import asyncio
import hashlib
import re
from collections.abc import Iterator, Mapping, Sequence
from typing import Annotated, Final
from urllib.parse import urlsplit

from msgspec import Meta, Struct
from msgspec.structs import replace

from pipelines.data.transmit.connectors.base import Answer, ConnectorContext, ConnectorType, PathText
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse, post
from pipelines.data.transmit.connectors.http.credentials import (
    Auth,
    BadSecretError,
    Basic,
    Bearer,
    HttpUrl,
    OAuth2,
    basic,
    bearer,
    header_text,
)
from pipelines.data.transmit.connectors.http.formats import Content, Format, content
from pipelines.data.transmit.connectors.http.oauth2 import TokenCache, TokenError
from pipelines.data.transmit.events import Event
from shared.contracts import signing
from shared.contracts.documents import Batch, Destination, SecretRef
from shared.contracts.secrets import SCHEME, UnknownSecretError, secret_name

_HEADER_NAME: Final = re.compile(r"[!#$%&'*+.^_`|~0-9A-Za-z-]+")
_HEADER_VALUE: Final = re.compile(r"[\t\x20-\x7e]*")
_OWN_HEADERS: Final = frozenset(
    {"content-type", "content-length", "content-encoding", "transfer-encoding", "connection", "host"}
)
_AUTHORISING: Final = frozenset({"authorization", "proxy-authorization", "cookie"})


class Signing(Struct, kw_only=True, frozen=True):
    """Signatures of Standard Webhooks."""

    keys: Annotated[tuple[SecretRef, ...], Meta(min_length=1, max_length=8)]
    """Every key signs every request. To rotate a key, name both for a while."""


class Options(Struct, kw_only=True, frozen=True):
    """How to reach an HTTP endpoint."""

    url: Annotated[HttpUrl, Meta(description="where to POST, for example https://example.com/hook")]
    headers: Annotated[
        dict[str, str],
        Meta(description="more headers, for example {X-Team: blue, X-Api-Key: secret://shop/api-key}"),
    ] = {}
    format: Annotated[Format, Meta(description="one of batch, array, ndjson, event")] = "batch"
    auth: Annotated[
        Auth | None,
        Meta(
            description="{type: bearer, token: secret://..}, "
            "{type: basic, username: .., password: secret://..} or "
            "{type: oauth2, token_url: .., client_id: .., client_secret: secret://..}"
        ),
    ] = None
    signing: Annotated[
        Signing | None, Meta(description="for example {keys: [secret://shop/webhook]}, of one to eight keys")
    ] = None


class Webhook:
    """Sends to endpoints, which answer for a whole request."""

    def __init__(self, context: ConnectorContext) -> None:
        self._session = context.session
        self._secrets = context.secrets
        self._clock = context.clock
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
            headers = self._headers(options, events, found)
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
        return await post(self._session, request, seconds)

    async def _token(self, options: Options, seconds: float) -> dict[str, str]:
        """The Authorization header of OAuth2, for which a token may have to be requested."""
        if not isinstance(options.auth, OAuth2):
            return {}
        async with asyncio.timeout(seconds):
            return {"Authorization": bearer(await self._tokens.get(options.auth))}

    def _headers(self, options: Options, events: Sequence[Event], found: Content) -> dict[str, str]:
        headers = {name: self._value(text) for name, text in options.headers.items()}
        headers["Content-Type"] = found.content_type
        match options.auth:
            case Bearer(token=token):
                headers["Authorization"] = bearer(header_text(self._secrets, token))
            case Basic(username=username, password=password):
                headers["Authorization"] = basic(username, self._secrets.get(password).strip())
        if options.signing:
            headers |= self._signature(options.signing, events, found.body)
        return headers

    def _value(self, text: str) -> str:
        return header_text(self._secrets, text) if text.startswith(SCHEME) else text

    def _signature(self, how: Signing, events: Sequence[Event], body: bytes) -> dict[str, str]:
        keys = [self._key(reference) for reference in how.keys]
        return signing.signed(keys, message_id(events), self._clock() // 1000, body)

    def _key(self, reference: str) -> bytes:
        try:
            return signing.key_of(self._secrets.get(reference))
        except ValueError as error:
            raise BadSecretError(reference, str(error)) from None


def message_id(events: Sequence[Event]) -> str:
    """The id that the signature covers: the same for the same events, whenever they are sent."""
    return "msg_" + hashlib.sha256(b"".join([event.key for event in events])).hexdigest()[:32]


async def _open(context: ConnectorContext) -> Webhook:
    return Webhook(context)


def _batch(options: Options, limits: Batch) -> Batch:
    return replace(limits, max_events=1) if options.format == "event" else limits


def _faults(options: Options) -> Iterator[PathText]:
    yield from _url_faults("$.url", options.url)
    if isinstance(options.auth, OAuth2):
        yield from _url_faults("$.auth.token_url", options.auth.token_url)
    for name, value in options.headers.items():
        yield from _header_faults(name, value)
        if options.auth and name.lower() == "authorization":
            yield f"$.headers.{name}", "is set by `auth` too; remove one of them"
        if options.signing and name.lower() in signing.HEADERS:
            yield f"$.headers.{name}", "is set by `signing`; remove it"


def _url_faults(path: str, text: str) -> Iterator[PathText]:
    try:
        url = urlsplit(text)
        usable = bool(url.hostname) and url.port != 0
    except ValueError as error:
        yield path, f"is not a URL: {error}"
        return
    if not usable or re.search(r"[\s\x00-\x1f]", text):
        yield path, "is not a URL; write it like https://example.com/events, spaces as %20"
    if url.password is not None:
        yield path, "holds a password; name it in `auth`: {type: basic, username: .., password: secret://..}"


def _header_faults(name: str, value: str) -> Iterator[PathText]:
    path = f"$.headers.{name}"
    if not _HEADER_NAME.fullmatch(name):
        yield path, "is not a valid HTTP header name; use letters, digits and hyphens"
    elif name.lower() in _OWN_HEADERS:
        yield path, "is set by hifi itself; leave it out"
    if value.startswith(SCHEME) and secret_name(value) is None:
        yield path, "is not the name of a secret; write it like secret://shop/api-key"
    elif name.lower() in _AUTHORISING and not value.startswith(SCHEME):
        yield path, "is a secret; name it: secret://shop/authorization, or use `auth`"
    elif not _HEADER_VALUE.fullmatch(value):
        yield path, "holds a line break or a character outside ASCII; encode it"


def _hosts(options: Options) -> Iterator[PathText]:
    yield "$.url", urlsplit(options.url).hostname or ""
    if isinstance(options.auth, OAuth2):
        yield "$.auth.token_url", urlsplit(options.auth.token_url).hostname or ""


def _summary(options: Options) -> str:
    return options.url


CONNECTOR: Final = ConnectorType(
    options=Options, open=_open, batch=_batch, faults=_faults, hosts=_hosts, summary=_summary
)
