"""Authenticates callers, and refuses those without permission."""

import math
from collections.abc import Awaitable, Callable
from functools import partial
from http import HTTPStatus
from typing import Final

from fastapi import Request
from starlette.concurrency import run_in_threadpool

from pipelines.management.api.intent import PLURALS
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.requests import is_name
from pipelines.management.api.rights.authentication import Authentication
from pipelines.management.api.rights.callers import Caller
from pipelines.management.api.rights.permissions import Action, Verdict, may
from pipelines.management.api.rights.rate_limits import RateLimits
from shared.oidc.errors import ProviderAwayError, TokenRefusedError
from shared.oidc.keys import AGAIN_SECONDS
from shared.runtime.query_parameters import parameter_problem

_SCHEME: Final = "bearer "
_AWAY_SECONDS: Final = str(int(AGAIN_SECONDS))
Guard = Callable[[Request], Caller]


class Access:
    """The access check before every route below /v1. Its guards run on threads: they ask the table."""

    def __init__(self, authentication: Authentication, limits: RateLimits, tenants: RateLimits) -> None:
        """`limits` are those of each token or person, `tenants` those of each tenant's together."""
        self._authentication, self._limits, self._tenants = authentication, limits, tenants

    def guard(self, action: Action) -> Guard:
        """A dependency that gives the caller, or raises a ProblemError."""

        def allowed(request: Request) -> Caller:
            caller = self._caller(request)
            request.state.caller = caller
            request.state.check_again = partial(self._check_again, request, action)
            self._refuse_too_many(caller)
            _refuse_forbidden(caller, action, request.path_params.get("tenant"))
            kind = request.path_params.get("kind")
            if kind is not None and kind not in PLURALS:
                raise not_found()  # before its parameters: the path may be another route's
            refuse_wrong_parameters(request)
            return caller

        return allowed

    def _check_again(self, request: Request, action: Action) -> None:
        """Refuse a caller that has lost its right since the guard; counts as no further request."""
        _refuse_forbidden(self._caller(request), action, request.path_params.get("tenant"))

    def still(self, request: Request, action: Action) -> bool:
        """Whether the caller of a request that is long in flight may go on; counts as no further request."""
        target = request.path_params.get("tenant")
        try:
            caller = self._found(request)
        except (TokenRefusedError, ProviderAwayError):
            return False
        return caller is not None and may(caller.role, caller.tenant, action, target) is Verdict.ALLOWED

    def _refuse_too_many(self, caller: Caller) -> None:
        """Refuse what is above the caller's rate or its tenant's: one with many tokens has no higher rate."""
        wait, whose = self._limits.wait(caller.id), "with this token"
        if not wait and caller.tenant is not None:
            wait, whose = self._tenants.wait(caller.tenant), "of this tenant"
        if wait:
            raise ProblemError(
                HTTPStatus.TOO_MANY_REQUESTS,
                f"too many requests {whose}; wait as Retry-After says",
                headers={"Retry-After": str(math.ceil(wait))},
            )

    def _found(self, request: Request) -> Caller | None:
        holder = self._authentication.holder(bearer_of(request))
        target = request.path_params.get("tenant")
        return None if holder is None else self._authentication.caller(holder, target)

    def _caller(self, request: Request) -> Caller:
        try:
            caller = self._found(request)
        except TokenRefusedError as error:
            raise unauthorized(f"the token is refused: {error}") from None
        except ProviderAwayError as error:
            raise ProblemError(
                HTTPStatus.SERVICE_UNAVAILABLE,
                f"the token cannot be checked: {error}; try again",
                headers={"Retry-After": _AWAY_SECONDS},
            ) from None
        if caller is None:
            raise unauthorized("send Authorization: Bearer and a token that has not expired or been revoked")
        return caller


def _refuse_forbidden(caller: Caller, action: Action, target: str | None) -> None:
    verdict = may(caller.role, caller.tenant, action, target)
    if verdict is Verdict.HIDDEN or (target is not None and not is_name(target)):
        raise not_found()
    if verdict is Verdict.FORBIDDEN:
        said = "you have no role" if caller.role is None else f"the role {caller.role} may not do this"
        raise ProblemError(HTTPStatus.FORBIDDEN, said)


def bearer_of(request: Request) -> str:
    """The token that a request carries; empty for none."""
    text = request.headers.get("authorization", "")
    return text[len(_SCHEME) :].strip() if text[: len(_SCHEME)].lower() == _SCHEME else ""


def refuse_wrong_parameters(request: Request) -> None:
    """Refuse a query parameter that the route does not declare, or that is given more than once.

    Raises:
        ProblemError: 400 with its name and the fix.
    """
    said = parameter_problem(request)
    if said is not None:
        raise ProblemError(HTTPStatus.BAD_REQUEST, said)


def unauthorized(detail: str) -> ProblemError:
    """The refusal of a request without a valid token."""
    return ProblemError(HTTPStatus.UNAUTHORIZED, detail, headers={"WWW-Authenticate": "Bearer"})


def body_reader(most: int) -> Callable[[Request], Awaitable[bytes]]:
    """A dependency that gives a request's body of at most `most` bytes, or raises a 413.

    A slow sender may have been removed meanwhile, so the guard's check is made again at the body's end. A
    request without a guard is that of an invitation, which its redemption looks up itself.
    """

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
        check_again: Callable[[], None] | None = getattr(request.state, "check_again", None)
        if check_again is not None:
            await run_in_threadpool(check_again)
        return bytes(read)

    return body
