"""The management API as an ASGI application."""

import asyncio
from collections.abc import Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec import Struct
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.requests import ClientDisconnect
from starlette.routing import Match
from starlette.types import ASGIApp, Message, Receive, Scope, Send

from pipelines.management.api import views
from pipelines.management.api.dead_letters import DeadLetters
from pipelines.management.api.description import described
from pipelines.management.api.documents import Documents
from pipelines.management.api.metrics import ApiMetrics
from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.problems import NotBegunError, ProblemError
from pipelines.management.api.readiness import Readiness
from pipelines.management.api.rights.access import Access
from pipelines.management.api.rights.audit import AuditLog
from pipelines.management.api.rights.audit_entry import WRITES, AuditEntry
from pipelines.management.api.rights.authentication import Authentication
from pipelines.management.api.rights.made_access import MadeAccessFinder
from pipelines.management.api.rights.member_store import MemberStore
from pipelines.management.api.rights.read_limits import ReadLimits
from pipelines.management.api.rights.token_store import TokenStore
from pipelines.management.api.rights.write_limits import WriteLimits
from pipelines.management.api.rollouts import Rollouts
from pipelines.management.api.routes.connectors import connector_routes
from pipelines.management.api.routes.dead_letters import dead_letter_routes
from pipelines.management.api.routes.documents import document_routes
from pipelines.management.api.routes.listings import listing_routes
from pipelines.management.api.routes.members import (
    invitation_routes,
    member_routes,
    redeem_route,
    tenant_routes,
)
from pipelines.management.api.routes.meter import meter_routes
from pipelines.management.api.routes.rollouts import rollout_routes
from pipelines.management.api.routes.sides import side_routes
from pipelines.management.api.routes.tails import tail_routes
from pipelines.management.api.routes.tokens import audit_routes, key_routes, token_routes
from pipelines.management.api.routes.tries import try_routes
from pipelines.management.api.source_keys import SourceKeys
from pipelines.management.api.tail_feed import TailFeed
from shared.dynamodb.client import StoreError
from shared.dynamodb.sides_reader import SidesReader
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger
from shared.runtime.request_bodies import BodyRefusedError, BoundedBodies

_log = get_logger(__name__)
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", *WRITES})
_AWAY_SECONDS = "2"


class Parts(Struct, frozen=True, kw_only=True):
    """The stores, clients, guards and limits that the application is built from."""

    documents: Documents
    source_keys: SourceKeys
    rollouts: Rollouts
    tokens: TokenStore
    members: MemberStore
    authentication: Authentication
    access: Access
    audit: AuditLog
    observe: ObserveClient
    sides: SidesReader
    dead_letters: DeadLetters
    tails: TailFeed
    reads: ReadLimits
    metrics: ApiMetrics
    answers: Callable[[], bool]
    """Whether the table answers."""

    clock: Clock
    body_bytes: int
    body_timeout: float
    """Seconds."""

    bodies_bytes: int
    """Most bytes in memory for the bodies of all requests."""


def create_app(parts: Parts) -> FastAPI:
    """The application."""
    app = FastAPI(title="hifi management", version="1", docs_url=None, redoc_url=None, redirect_slashes=False)
    _add_health(app, parts)
    app.include_router(
        token_routes(parts.tokens, parts.authentication, parts.access, parts.clock, parts.body_bytes)
    )
    reads, writes = parts.reads, WriteLimits()
    made = MadeAccessFinder(parts.tokens, parts.members)
    app.include_router(tenant_routes(parts.members, parts.access, parts.clock))
    app.include_router(member_routes(parts.members, made, parts.access, parts.clock, parts.body_bytes))
    app.include_router(invitation_routes(parts.members, parts.access, parts.clock, parts.body_bytes))
    app.include_router(
        redeem_route(parts.members, parts.authentication, parts.access, parts.clock, parts.body_bytes)
    )
    app.include_router(connector_routes(parts.access))
    app.include_router(audit_routes(parts.audit, parts.access))
    app.include_router(key_routes(parts.source_keys, parts.access, writes, parts.body_bytes))
    app.include_router(meter_routes(parts.observe, parts.access))
    app.include_router(side_routes(parts.sides, parts.access))
    app.include_router(listing_routes(parts.documents, parts.members, parts.access, reads))
    app.include_router(
        try_routes(parts.documents, parts.rollouts, parts.access, parts.clock, parts.body_bytes)
    )
    app.include_router(
        rollout_routes(parts.documents, parts.rollouts, parts.access, writes, parts.body_bytes)
    )
    app.include_router(
        dead_letter_routes(parts.dead_letters, parts.documents, parts.access, parts.body_bytes)
    )
    app.include_router(tail_routes(parts.tails, parts.documents, parts.access))
    # The last: its /v1/tenants/{tenant}/{kind} matches the paths of all others below a tenant.
    app.include_router(
        document_routes(parts.documents, parts.rollouts, parts.access, reads, writes, parts.body_bytes)
    )
    _add_errors(app)
    app.add_middleware(
        BoundedBodies, seconds=parts.body_timeout, together=parts.bodies_bytes, refuse=_refused_body
    )
    app.add_middleware(Audited, parts=parts)  # around the other, so that its refusals are counted
    described(app.openapi())  # kept by the application
    return app


def _add_health(app: FastAPI, parts: Parts) -> None:
    readiness = Readiness(parts.answers)

    @app.get("/healthz")
    async def healthz() -> Response:
        return views.json_response({"alive": True})

    @app.get("/readyz", responses={503: {"description": "the table does not answer"}})
    async def readyz() -> Response:
        ready = await readiness.ready()
        parts.metrics.ready.set(ready)
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return views.json_response({"ready": ready, "table": ready}, status)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


class Audited:
    """Counts every request, and keeps every write and every refused one before it is answered.

    Not of the kind `app.middleware` makes: that would not notice a reader of a live tail that stalls.
    """

    def __init__(self, app: ASGIApp, parts: Parts) -> None:
        self._app, self._parts = app, parts

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """See ASGI."""
        began = False
        entry = AuditEntry(self._parts.audit, self._parts.clock, scope)

        async def noted(message: Message) -> None:
            nonlocal began
            if message["type"] == "http.response.start":
                began = True
                await self._note(entry, message["status"])
            await send(message)

        try:
            await self._app(scope, receive, noted)
        except ClientDisconnect:  # before its body was complete: there is no one to answer
            _log.debug("client went away")
        except asyncio.CancelledError:  # by the end of the process, while the write goes on in its thread
            entry.keep_cut_off()
            raise
        except Exception as error:  # answered here, so that it is audited as well
            if began:
                raise
            await _unexpected(error)(scope, receive, noted)

    async def _note(self, entry: AuditEntry, status: int) -> None:
        method = entry.method if entry.method in _METHODS else "other"
        self._parts.metrics.requests.labels(method, status).inc()
        if entry.is_write:
            await run_in_threadpool(entry.keep, status)


def _add_errors(app: FastAPI) -> None:
    # Coroutines: to refuse a request takes no thread, of which there may be none.
    async def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        request.state.detail = error.detail
        request.state.not_begun = isinstance(error, NotBegunError)
        return error.response()

    async def away(_: Request, error: Exception) -> Response:
        _log.warning("request failed: the table cannot be used", extra={"error": str(error)})
        said = "the store does not answer; try again"
        headers = {"Retry-After": _AWAY_SECONDS}
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, said, headers=headers).response()

    async def unreadable(_: Request, error: Exception) -> Response:
        fields: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
        names = ", ".join(str(field["loc"][-1]) for field in fields)
        return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{names}: cannot be read").response()

    async def framework(request: Request, error: Exception) -> Response:
        assert isinstance(error, HTTPException)
        said = HTTPStatus(error.status_code).phrase.lower()
        headers = dict(error.headers or {})
        if error.status_code == HTTPStatus.METHOD_NOT_ALLOWED:
            headers["Allow"] = ", ".join(sorted(_methods(request)))  # the framework names those of one route
        return ProblemError(error.status_code, said, headers=headers).response()

    app.add_exception_handler(ProblemError, refused)
    app.add_exception_handler(StoreError, away)
    app.add_exception_handler(RequestValidationError, unreadable)
    app.add_exception_handler(HTTPException, framework)


def _refused_body(error: BodyRefusedError) -> ASGIApp:
    response = ProblemError(error.status, error.detail, headers=error.headers).response()

    async def answer(scope: Scope, receive: Receive, send: Send) -> None:
        Request(scope).state.not_begun = True  # routes that write do so once their body is there
        await response(scope, receive, send)

    return answer


def _methods(request: Request) -> set[str]:
    """The methods of all routes that match a request's path."""
    found = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in found for method in getattr(route, "methods", None) or ()}


def _unexpected(error: Exception) -> Response:
    _log.error("request failed unexpectedly", exc_info=error)
    said = "unexpected error; try again, and report it if it lasts"
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, said).response()
