"""The management API as an ASGI application."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from typing import Any

from fastapi import FastAPI, Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec import Struct
from prometheus_client import generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException
from starlette.routing import Match

from pipelines.management.api import views
from pipelines.management.api.access import Access
from pipelines.management.api.audit import AuditLog, row_of
from pipelines.management.api.connector_routes import connector_routes
from pipelines.management.api.description import described
from pipelines.management.api.document_routes import document_routes
from pipelines.management.api.documents import Documents
from pipelines.management.api.listing_routes import listing_routes
from pipelines.management.api.meter_routes import meter_routes
from pipelines.management.api.metrics import ApiMetrics
from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.problems import ProblemError
from pipelines.management.api.rollout_routes import rollout_routes
from pipelines.management.api.rollouts import Rollouts
from pipelines.management.api.token_routes import audit_routes, key_routes, token_routes
from pipelines.management.api.tokens import Token, TokenStore
from pipelines.management.api.try_routes import try_routes
from shared.dynamodb.client import StoreError
from shared.runtime.clock import Clock
from shared.runtime.logging import get_logger

_log = get_logger(__name__)
_WRITES = frozenset({"PUT", "POST", "DELETE", "PATCH"})
_METHODS = frozenset({"GET", "HEAD", "OPTIONS", *_WRITES})
_AWAY_SECONDS = "2"


class Parts(Struct, frozen=True, kw_only=True):
    """What the application is made of."""

    documents: Documents
    rollouts: Rollouts
    tokens: TokenStore
    access: Access
    audit: AuditLog
    observe: ObserveClient
    metrics: ApiMetrics
    answers: Callable[[], bool]
    """Whether the table answers."""

    clock: Clock
    body_bytes: int


def create_app(parts: Parts) -> FastAPI:
    """The application."""
    app = FastAPI(title="hifi management", version="1", docs_url=None, redoc_url=None, redirect_slashes=False)
    _add_health(app, parts)
    app.include_router(token_routes(parts.tokens, parts.access, parts.clock, parts.body_bytes))
    app.include_router(connector_routes(parts.access))
    app.include_router(audit_routes(parts.audit, parts.access))
    app.include_router(key_routes(parts.documents, parts.access, parts.body_bytes))
    app.include_router(meter_routes(parts.observe, parts.access))
    app.include_router(listing_routes(parts.documents, parts.access))
    app.include_router(
        try_routes(parts.documents, parts.rollouts, parts.access, parts.clock, parts.body_bytes)
    )
    app.include_router(rollout_routes(parts.documents, parts.rollouts, parts.access, parts.body_bytes))
    app.include_router(document_routes(parts.documents, parts.rollouts, parts.access, parts.body_bytes))
    _add_errors(app)
    _add_audit(app, parts)
    described(app.openapi())  # kept by the application
    return app


def _add_health(app: FastAPI, parts: Parts) -> None:
    @app.get("/healthz")
    async def healthz() -> Response:
        return views.json_response({"alive": True})

    @app.get("/readyz", responses={503: {"description": "the table does not answer"}})
    def readyz() -> Response:
        ready = parts.answers()
        parts.metrics.ready.set(ready)
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return views.json_response({"ready": ready, "table": ready}, status)

    @app.get("/metrics")
    def metrics() -> Response:
        return Response(generate_latest(parts.metrics.registry), media_type=CONTENT_TYPE_LATEST)


def _add_audit(app: FastAPI, parts: Parts) -> None:
    @app.middleware("http")
    async def audited(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
        try:
            response = await answer(request)
        except Exception as error:  # answered here, so that it is audited as well
            response = _unexpected(error)
        method = request.method if request.method in _METHODS else "other"
        parts.metrics.requests.labels(method, response.status_code).inc()
        if method in _WRITES and not getattr(request.state, "dry_run", False):
            await run_in_threadpool(_record, parts, request, response.status_code)
        return response


def _record(parts: Parts, request: Request, status: int) -> None:
    """Keep a write or a refused one; without a token only a log line, or anybody could fill the table."""
    token: Token | None = getattr(request.state, "token", None)
    detail: str = getattr(request.state, "detail", "")
    if token is None:
        _log.info("refused without a token", extra={"method": request.method, "status": status})
        return
    row = row_of(token, request.method, request.url.path, status=status, at_ms=parts.clock(), detail=detail)
    parts.audit.record(token, request.path_params.get("tenant"), row)


def _add_errors(app: FastAPI) -> None:
    def refused(request: Request, error: Exception) -> Response:
        assert isinstance(error, ProblemError)
        request.state.detail = error.detail
        return error.response()

    def away(_: Request, error: Exception) -> Response:
        _log.warning("request failed: the table cannot be used", extra={"error": str(error)})
        said = "the store does not answer; try again"
        headers = {"Retry-After": _AWAY_SECONDS}
        return ProblemError(HTTPStatus.SERVICE_UNAVAILABLE, said, headers=headers).response()

    def unreadable(_: Request, error: Exception) -> Response:
        fields: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
        names = ", ".join(str(field["loc"][-1]) for field in fields)
        return ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, f"{names}: cannot be read").response()

    def framework(request: Request, error: Exception) -> Response:
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


def _methods(request: Request) -> set[str]:
    """What all routes of a path take."""
    found = (route for route in request.app.routes if route.matches(request.scope)[0] is not Match.NONE)
    return {method for route in found for method in getattr(route, "methods", None) or ()}


def _unexpected(error: Exception) -> Response:
    _log.error("request failed unexpectedly", exc_info=error)
    said = "unexpected error; try again, and report it if it lasts"
    return ProblemError(HTTPStatus.INTERNAL_SERVER_ERROR, said).response()
