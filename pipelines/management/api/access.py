"""Finds out who asks, and refuses those who may not."""

import math
from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Final

from fastapi import Request

from pipelines.management.api.permissions import Action, Verdict, may
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.rate_limits import RateLimits
from pipelines.management.api.requests import is_name
from pipelines.management.api.tokens import Token, TokenStore
from shared.runtime.clock import Clock

_MOST_TOKEN: Final = 256
_SCHEME: Final = "bearer "
Guard = Callable[[Request], Token]


class Access:
    """What stands before every route below /v1. Its guards run on threads: they ask the table."""

    def __init__(self, tokens: TokenStore, limits: RateLimits, clock: Clock) -> None:
        self._tokens, self._limits, self._clock = tokens, limits, clock

    def guard(self, action: Action) -> Guard:
        """A dependency that gives the caller's token, or raises a ProblemError."""

        def allowed(request: Request) -> Token:
            token = self._caller(request)
            request.state.token = token
            target = request.path_params.get("tenant")
            wait = self._limits.wait(token.id)
            if wait:
                raise ProblemError(
                    HTTPStatus.TOO_MANY_REQUESTS,
                    "too many requests with this token; wait as Retry-After says",
                    headers={"Retry-After": str(math.ceil(wait))},
                )
            verdict = may(token.role, token.tenant, action, target)
            if verdict is Verdict.HIDDEN or (target is not None and not is_name(target)):
                raise not_found()
            if verdict is Verdict.FORBIDDEN:
                raise ProblemError(HTTPStatus.FORBIDDEN, f"the role {token.role} may not do this")
            return token

        return allowed

    def still(self, request: Request, action: Action) -> bool:
        """Whether the caller of a request that is long in flight may go on; counts as no further request."""
        token = self._found(request)
        target = request.path_params.get("tenant")
        return token is not None and may(token.role, token.tenant, action, target) is Verdict.ALLOWED

    def _found(self, request: Request) -> Token | None:
        text = request.headers.get("authorization", "")
        given = text[len(_SCHEME) :].strip() if text[: len(_SCHEME)].lower() == _SCHEME else ""
        return self._tokens.find(given, self._clock()) if given and len(given) <= _MOST_TOKEN else None

    def _caller(self, request: Request) -> Token:
        token = self._found(request)
        if token is None:
            raise ProblemError(
                HTTPStatus.UNAUTHORIZED,
                "send Authorization: Bearer and a token that has not expired or been revoked",
                headers={"WWW-Authenticate": "Bearer"},
            )
        return token


def body_reader(most: int) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency that gives a request's body of at most `most` bytes, or raises a 413."""

    async def body(request: Request) -> bytes:
        read = bytearray()
        async for chunk in request.stream():
            read += chunk
            if len(read) > most:
                raise ProblemError(
                    HTTPStatus.REQUEST_ENTITY_TOO_LARGE,
                    f"send at most {most:,} bytes",
                    headers={"Connection": "close"},
                )
        return bytes(read)

    return body
