"""OAuth2 tokens: requested once, cached, and renewed shortly before they expire."""

import asyncio
from dataclasses import dataclass
from typing import Final
from urllib.parse import urlencode

import aiohttp
import msgspec

from pipelines.data.transmit.connectors.base import Answer
from pipelines.data.transmit.connectors.http.client import HttpRequest, HttpResponse, send_for_status
from pipelines.data.transmit.connectors.http.credentials import client
from shared.connectors.http_auth import OAuth2
from shared.contracts.http_statuses import RETRYABLE
from shared.contracts.secrets import Secrets, secret_text
from shared.runtime.clock import Clock

ASK_SECONDS: Final = 8.0
"""Timeout of a token request. A delivery that waits may time out earlier; its retry finds the token."""

MARGIN_SECONDS: Final = 60.0
"""How long before its expiry a token is renewed; a tenth of its lifetime if that is less."""

_UNSAID_SECONDS: Final = 300.0
"""Assumed lifetime of a token if the server does not state it."""

_MOST_TOKENS: Final = 10_000
_MOST_CHARACTERS: Final = 8_000
"""Longest token: servers accept no longer headers."""

_HEADERS: Final = {"Content-Type": "application/x-www-form-urlencoded", "Accept": "application/json"}


class TokenError(Exception):
    """No token could be obtained; `answer` is the answer for the events that wait for it."""

    def __init__(self, answer: Answer) -> None:
        super().__init__(answer.error)
        self.answer = answer


class _Granted(msgspec.Struct):
    """A token endpoint's answer (RFC 6749, 5.1)."""

    access_token: str
    token_type: str = "Bearer"  # noqa: S105
    expires_in: float | str | None = None


@dataclass(frozen=True, slots=True)
class _Token:
    text: str
    renew_ms: int
    end_ms: int


_granted = msgspec.json.Decoder(_Granted)


class TokenCache:
    """The tokens of one process, for one event loop; concurrent callers share a request."""

    def __init__(self, session: aiohttp.ClientSession, secrets: Secrets, clock: Clock) -> None:
        self._session = session
        self._secrets = secrets
        self._clock = clock
        self._tokens: dict[OAuth2, _Token] = {}
        self._asking: dict[OAuth2, asyncio.Task[_Token]] = {}

    async def get(self, auth: OAuth2) -> str:
        """A valid token.

        Raises:
            TokenError: if none can be obtained.
            UnknownSecretError: if the client's secret is missing.
        """
        token, now_ms = self._tokens.get(auth), self._clock()
        if token is None or now_ms >= token.end_ms:
            return (await asyncio.shield(self._ask(auth))).text
        if now_ms >= token.renew_ms:
            self._ask(auth)
        return token.text

    def refused(self, auth: OAuth2, text: str) -> None:
        """Drop a token that a destination refused, unless it was already replaced."""
        token = self._tokens.get(auth)
        if token is not None and token.text == text:
            del self._tokens[auth]

    async def close(self) -> None:
        """Cancel pending token requests."""
        for task in list(self._asking.values()):
            task.cancel()
        await asyncio.gather(*self._asking.values(), return_exceptions=True)

    def _ask(self, auth: OAuth2) -> "asyncio.Task[_Token]":
        task = self._asking.get(auth)
        if task is None:
            task = self._asking[auth] = asyncio.create_task(self._grant(auth))
            task.add_done_callback(lambda done: self._asked(auth, done))
        return task

    def _asked(self, auth: OAuth2, task: "asyncio.Task[_Token]") -> None:
        del self._asking[auth]
        if not task.cancelled() and task.exception() is None:
            if len(self._tokens) >= _MOST_TOKENS:
                self._tokens.clear()
            self._tokens[auth] = task.result()

    async def _grant(self, auth: OAuth2) -> _Token:
        form, headers = request(auth, secret_text(self._secrets, auth.client_secret))
        asked_ms = self._clock()
        sent = HttpRequest(url=auth.token_url, headers=headers, body=form, option="auth.token_url")
        found = await send_for_status(self._session, sent, ASK_SECONDS)
        if isinstance(found, Answer):
            raise TokenError(found)
        return granted(found, asked_ms)


def request(auth: OAuth2, secret: str) -> tuple[bytes, dict[str, str]]:
    """Body and headers of a token request."""
    form = {"grant_type": "client_credentials", "scope": auth.scope, "audience": auth.audience}
    headers = dict(_HEADERS)
    if auth.credentials == "body":
        form |= {"client_id": auth.client_id, "client_secret": secret}
    else:
        headers["Authorization"] = client(auth, secret)
    return urlencode({name: text for name, text in form.items() if text}).encode(), headers


def granted(response: HttpResponse, asked_ms: int) -> _Token:
    """The token in a response. Errors do not quote the response, which may contain what was sent.

    Raises:
        TokenError: if the response has no usable token.
    """
    if response.status != 200:
        raise TokenError(_refusal(response))
    try:
        found = _granted.decode(response.body)
        seconds = _UNSAID_SECONDS if found.expires_in is None else max(0.0, float(found.expires_in))
    except (msgspec.MsgspecError, UnicodeDecodeError, ValueError):
        found, seconds = _Granted(""), 0.0
    usable = found.access_token.isascii() and found.access_token.isprintable()
    if not usable or not 0 < len(found.access_token) <= _MOST_CHARACTERS:
        raise TokenError(_unusable("gave no token in JSON that a header can hold"))
    if found.token_type.lower() != "bearer":
        raise TokenError(_unusable("gave a token of another type than Bearer"))
    margin = min(MARGIN_SECONDS, seconds / 10)
    life_ms, margin_ms = int(min(seconds, 1e9) * 1000), int(margin * 1000)
    return _Token(found.access_token, asked_ms + life_ms - margin_ms, asked_ms + life_ms)


def _refusal(response: HttpResponse) -> Answer:
    """A failing server may be asked again at once; refused credentials must first be corrected."""
    busy = response.status >= 500 or response.status in RETRYABLE
    return Answer(
        error=f"token_refused: `auth.token_url` answered {response.status}",
        retry_after=response.retry_after,
        later=not busy or (response.status == 429 and response.retry_after is None),
    )


def _unusable(problem: str) -> Answer:
    return Answer(error=f"token_unusable: `auth.token_url` {problem}", later=True)
