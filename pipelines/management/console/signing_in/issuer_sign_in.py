"""Signing in by the issuer: to it with a state that only this browser can answer, and back with a code."""

import hmac
import time
from functools import partial
from typing import Final

import msgspec
from cryptography.fernet import Fernet, InvalidToken
from fastapi import FastAPI, Request, Response
from msgspec import Struct

from pipelines.management.console.api_client import ApiClient, ProblemError
from pipelines.management.console.observe_client import UnreachableError
from pipelines.management.console.session import COOKIE, Sessions
from pipelines.management.console.settings import CALLBACK, ConsoleSettings
from pipelines.management.console.signing_in.issuer_threads import CrowdedError, FewThreads
from pipelines.management.console.signing_in.sign_in import (
    HOME,
    START,
    keep_session,
    reason_of,
    redirect,
    safe_next,
    sign_in_path,
)
from shared.oidc.code_flow import CodeFlow, SignIn, new_sign_in
from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.keys import KeyCache
from shared.oidc.provider import Provider
from shared.oidc.verifier import Verifier
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_SIGN_IN_COOKIE: Final = "hifi_sign_in"
_SIGN_IN_SECONDS: Final = 600
_MOST_AFTER: Final = 1_000
"""Bytes of the address to go to: a browser keeps cookies of four kilobytes."""

_MOST_QUERY: Final = 8_192


_REASONS: Final[dict[type[Exception], str]] = {
    TokenRefusedError: "refused-there",
    ProviderAwayError: "issuer-away",
    UnreachableError: "away",
    CrowdedError: "crowded",
}
"""The reason that the form gives for a failed sign-in, by the error; see `reason_of` for a ProblemError."""


class Begun(Struct, frozen=True, kw_only=True):
    """A sign-in that the issuer has not answered yet."""

    sign_in: SignIn
    after: str
    until_ms: int


class SignIns:
    """The sign-ins under way. Each is held by its own browser alone, sealed with a key of this process.

    So strangers who begin any number of them take no room from others. A sign-in that is answered again
    gets no further than the first time: the issuer takes a code once.
    """

    def __init__(self, clock: Clock) -> None:
        self._clock, self._seal = clock, Fernet(Fernet.generate_key())

    def begin(self, sign_in: SignIn, after: str) -> str:
        """The sign-in, sealed, for the browser's cookie."""
        until = self._clock() + _SIGN_IN_SECONDS * 1_000
        kept = after if len(after.encode()) <= _MOST_AFTER else HOME
        begun = Begun(sign_in=sign_in, after=kept, until_ms=until)
        return self._seal.encrypt(msgspec.json.encode(begun)).decode()

    def answered(self, sealed: str | None, state: str) -> Begun | None:
        """The sign-in of a cookie, if this is its answer and its time is not over."""
        try:
            found = msgspec.json.decode(self._seal.decrypt((sealed or "").encode()), type=Begun)
        except InvalidToken:
            return None
        if found.until_ms <= self._clock():
            return None
        return found if hmac.compare_digest(found.sign_in.state.encode(), state.encode()) else None


def code_flow(settings: ConsoleSettings, clock: Clock) -> CodeFlow | None:
    """The console as a client of the issuer; None without an issuer."""
    if settings.oidc_issuer is None or settings.oidc_client_id is None:
        return None
    provider = Provider(settings.oidc_issuer)
    keys = KeyCache(provider.keys, time.monotonic)
    secret = settings.oidc_client_secret
    return CodeFlow(
        provider,
        Verifier(settings.oidc_issuer, [settings.oidc_client_id], keys, clock),
        client_id=settings.oidc_client_id,
        secret=None if secret is None else secret.get_secret_value(),
        redirect=settings.oidc_redirect,
        scopes=settings.oidc_scopes,
    )


def add_issuer_sign_in(  # noqa: PLR0913  # what the two routes need
    app: FastAPI, client: ApiClient, sessions: Sessions, flow: CodeFlow, clock: Clock, *, secure: bool
) -> None:
    """Add the two routes: to the issuer, and back from it.

    Args:
        app: the application.
        client: of the API, which says what the person may.
        sessions: of this process.
        flow: of this client of the issuer.
        clock: epoch milliseconds.
        secure: browsers come by TLS, so cookies may travel only by it.
    """
    sign_ins = SignIns(clock)
    beginning, ending = FewThreads("sign-in start"), FewThreads("sign-in end")

    @app.get(START)
    async def start(request: Request) -> Response:
        after = safe_next(request.query_params.get("next", ""))
        again = "login" if "again" in request.query_params else None
        sign_in = new_sign_in()
        try:
            answer = redirect(await beginning.run(partial(flow.address, sign_in, prompt=again)))
        except (ProviderAwayError, CrowdedError) as error:
            return _failed(error, _REASONS[type(error)], after)
        answer.set_cookie(
            _SIGN_IN_COOKIE,
            sign_ins.begin(sign_in, after),
            max_age=_SIGN_IN_SECONDS,
            path=CALLBACK,
            httponly=True,
            samesite="lax",
            secure=secure,
        )
        return answer

    @app.get(CALLBACK)
    async def callback(request: Request) -> Response:
        begun = _answered(request, sign_ins)
        if begun is None:
            return _gone(redirect(sign_in_path("foreign")), secure)
        code = request.query_params.get("code")
        if not code:
            return _gone(redirect(sign_in_path("refused-there", begun.after)), secure)
        try:
            signed_in = await ending.run(partial(flow.redeem, code, begun.sign_in))
            identity = await client.whoami(signed_in.token)
        except ProblemError as error:
            return _gone(_failed(error, reason_of(error.status, refused="unknown-here"), begun.after), secure)
        except tuple(_REASONS) as error:
            return _gone(_failed(error, _REASONS[type(error)], begun.after), secure)
        sessions.end(request.cookies.get(COOKIE))
        answer = redirect(begun.after)
        keep_session(answer, sessions.begin(signed_in.token, identity, signed_in), secure)
        return _gone(answer, secure)


def _answered(request: Request, sign_ins: SignIns) -> Begun | None:
    short = len(request.url.query) <= _MOST_QUERY
    state = request.query_params.get("state", "") if short else ""
    return sign_ins.answered(request.cookies.get(_SIGN_IN_COOKIE), state)


def _gone(answer: Response, secure: bool) -> Response:
    answer.delete_cookie(_SIGN_IN_COOKIE, path=CALLBACK, httponly=True, samesite="lax", secure=secure)
    return answer


def _failed(error: Exception, reason: str, after: str) -> Response:
    _log.warning("sign-in failed", extra={"reason": reason, "error": str(error)})
    return redirect(sign_in_path(reason, after))
