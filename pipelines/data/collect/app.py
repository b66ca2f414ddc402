"""collect as an ASGI application: routing, responses, and the answer to unexpected errors."""

import asyncio
from time import perf_counter
from typing import Any

from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST

from pipelines.data.collect.asgi_responses import send_and_drain, send_response
from pipelines.data.collect.bodies.body import ClientGoneError, Receive
from pipelines.data.collect.errors import RefusedError, unavailable, unread
from pipelines.data.collect.handler import EventsHandler
from pipelines.data.collect.metrics import CollectMetrics
from pipelines.data.collect.openapi import document
from pipelines.data.collect.readiness import Readiness
from pipelines.data.collect.responses import Response, leaves_unread, problem_response
from shared.cloudevents.refusal import Refusal
from shared.runtime.logging import get_logger
from shared.runtime.unread_answers import Send, held_until_taken

Scope = dict[str, Any]

_log = get_logger(__name__)
_EVENTS = "/v1/events"
_BUSY_SECONDS = 1
_UNEXPECTED = Refusal("unexpected error", "$", "send the same request again; report it if it persists")
_GET = "GET, HEAD"
_METRICS = "/metrics"
_OPENAPI = "/openapi.json"
_ALLOWED = {_EVENTS: "POST", "/healthz": _GET, "/readyz": _GET, _OPENAPI: _GET}


class CollectApp:
    """Routes a request and sends its response."""

    def __init__(
        self,
        handler: EventsHandler,
        readiness: Readiness,
        metrics: CollectMetrics,
        max_requests: int,
        registry: CollectorRegistry | None,
    ) -> None:
        """`registry` is served at /metrics; with None that path is not served."""
        self._handler = handler
        self._readiness = readiness
        self._metrics = metrics
        self._max_requests = max_requests
        self._registry = registry
        self._allowed = _ALLOWED if registry is None else _ALLOWED | {_METRICS: _GET}
        self._in_flight = 0
        metrics.in_flight.set_function(lambda: self._in_flight)
        metrics.ready.set_function(lambda: self._readiness.report().ready)

    async def __call__(self, scope: Scope, receive: Receive, send: Send) -> None:
        """ASGI 3, type http."""
        request = dict(scope["headers"])
        try:
            if scope["path"] == _EVENTS and scope["method"] == "POST":
                await self._events(scope, request, receive, send)
            else:
                await send_response(send, self._respond(scope["path"], scope["method"]))
        except RefusedError as error:
            if leaves_unread(error, request):
                await send_and_drain(send, receive, problem_response(error))
            else:
                await send_response(send, problem_response(error))
        except ClientGoneError:
            self._metrics.abandoned.inc()

    async def _events(self, scope: Scope, request: dict[bytes, bytes], receive: Receive, send: Send) -> None:
        began = perf_counter()
        self._in_flight += 1
        try:
            response = await self._handle(request, receive)
            await send_response(held_until_taken(send, scope, self._handler.bodies.budget), response)
            self._metrics.requests.labels(response.status).inc()
            self._metrics.request_seconds.observe(perf_counter() - began)
        except RefusedError as error:
            self._metrics.requests.labels(error.status).inc()
            raise
        finally:
            self._in_flight -= 1

    async def _handle(self, request: dict[bytes, bytes], receive: Receive) -> Response:
        if self._in_flight > self._max_requests and not self._handler.bodies.budget.evict_oldest():
            raise unread(unavailable("too many requests at once", _BUSY_SECONDS))
        try:
            return await self._handler.handle(request, receive)
        except (RefusedError, ClientGoneError):
            raise
        except asyncio.CancelledError:  # the server stops, and the request outlasted its drain timeout
            raise unread(unavailable("the server is stopping", _BUSY_SECONDS)) from None
        except Exception as error:  # a defect of ours: answer 500, and keep serving other requests
            _log.exception("request failed unexpectedly")
            raise unread(RefusedError(500, _UNEXPECTED)) from error

    def _respond(self, path: str, method: str) -> Response:
        """The response on every path other than that of events.

        Raises:
            RefusedError: 404 or 405.
        """
        if path not in self._allowed:
            refusal = Refusal(f"no such path: {path[:100]}", "path", f"post events to {_EVENTS}")
            raise unread(RefusedError(404, refusal))
        if method not in self._allowed[path]:
            refusal = Refusal(f"{path} does not support {method}", "method", f"use {self._allowed[path]}")
            raise unread(RefusedError(405, refusal, headers=(("allow", self._allowed[path]),)))
        if path == _OPENAPI:
            return Response(200, document())
        if path == _METRICS and self._registry is not None:
            return Response(200, generate_latest(self._registry), CONTENT_TYPE_LATEST)
        return Response(200, b'{"alive":true}') if path == "/healthz" else self._readiness.report().response()
