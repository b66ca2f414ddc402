"""observe over HTTP. What it answers is in shared/contracts/scorecard.py, as JSON."""

from collections.abc import Callable, Mapping
from http import HTTPStatus
from typing import Annotated, Any, Final

import msgspec
from fastapi import APIRouter, Depends, FastAPI, Path, Query, Request, Response
from fastapi.exceptions import RequestValidationError
from msgspec import structs
from prometheus_client import CollectorRegistry, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.concurrency import run_in_threadpool
from starlette.exceptions import HTTPException

from pipelines.control.observe.alarms.quiet_windows import WindowError
from pipelines.control.observe.api import query_params
from pipelines.control.observe.api.queries import Queries
from pipelines.control.observe.api.query_params import BadParameterError, BusyError, UnavailableError
from pipelines.control.observe.settings import ObserveSettings
from shared.cloudevents.json_validation import PARSE_ERRORS
from shared.contracts.alarms import QuietWindow
from shared.contracts.envelope import MINUTE_MS
from shared.dynamodb.client import StoreError
from shared.runtime.clock import Clock
from shared.runtime.known_hosts import KnownHosts
from shared.runtime.logging import get_logger
from shared.runtime.query_parameters import parameter_problem
from shared.runtime.request_bodies import BodyRefusedError, BoundedBodies

_log = get_logger(__name__)
_JSON: Final = "application/json"
_MOST_BODY: Final = 16 * 1024
_DEFAULT_DAYS: Final = 90
_SEARCH_SECONDS: Final = 3_600
_BUSY_SECONDS: Final = "5"
_MOST_SEARCH_SECONDS: Final = 3 * 86_400

_encoder = msgspec.json.Encoder()
_window = msgspec.json.Decoder(QuietWindow)

Text = Annotated[str | None, Query()]
"""Parameters arrive as text; `query_params` parses them, with errors that name the field and the fix."""

Report = Callable[[], Mapping[str, bool]]
"""The conditions of readiness, by name."""


def json_response(found: object, status: int = HTTPStatus.OK) -> Response:
    """A reply with a contract's struct."""
    return Response(_encoder.encode(found), status, media_type=_JSON)


def _refused(text: str, status: int) -> Response:
    return json_response({"error": text}, status)


def _refused_body(error: BodyRefusedError) -> Response:
    answer = _refused(f"body: {error.detail}", error.status)
    answer.headers.update(error.headers)
    return answer


def build(
    answers: Queries,
    report: Report,
    registry: CollectorRegistry,
    clock: Clock,
    settings: ObserveSettings,
) -> FastAPI:
    """The application.

    Handlers that ask the store or Kafka run on threads, the others do not wait.
    """
    app = FastAPI(title="hifi observe", docs_url=None, redoc_url=None, openapi_url=None)
    app.add_middleware(KnownHosts, names=settings.names)
    app.add_middleware(
        BoundedBodies, seconds=settings.body_timeout, together=settings.bodies_bytes, refuse=_refused_body
    )
    _add_health(app, report, registry)
    router = APIRouter(dependencies=[Depends(_refuse_wrong_parameters)])
    _add_minutes(router, answers, clock)
    _add_days(router, answers)
    _add_present(router, answers)
    _add_quiet(router, answers)
    app.include_router(router)
    _add_errors(app)
    return app


async def _refuse_wrong_parameters(request: Request) -> None:
    said = parameter_problem(request)
    if said is not None:
        raise BadParameterError(said)


def _add_health(app: FastAPI, report: Report, registry: CollectorRegistry) -> None:
    @app.api_route("/healthz", methods=["GET", "HEAD"], include_in_schema=False)
    async def healthz() -> Response:
        return json_response({"alive": True})

    @app.api_route("/readyz", methods=["GET", "HEAD"], include_in_schema=False)
    async def readyz() -> Response:
        found = report()
        ready = all(found.values())
        status = HTTPStatus.OK if ready else HTTPStatus.SERVICE_UNAVAILABLE
        return json_response({"ready": ready, **found}, status)

    @app.api_route("/metrics", methods=["GET", "HEAD"], include_in_schema=False)
    def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _add_minutes(router: APIRouter, answers: Queries, clock: Clock) -> None:
    @router.get("/v1/minutes")
    def minutes(
        tenant: Text = None,
        first: Annotated[str | None, Query(alias="from")] = None,
        last: Annotated[str | None, Query(alias="to")] = None,
        hops: Text = None,
    ) -> Response:
        span = query_params.minutes(first, last, clock())
        without = query_params.flag("hops", hops) is False
        found = answers.minutes(query_params.tenant(tenant), *span)
        return json_response([structs.replace(card, hops=[]) for card in found] if without else found)

    @router.get("/v1/minutes/{minute}")
    def minute(minute: Annotated[str, Path()], tenant: Text = None) -> Response:
        at = query_params.minute("minute", minute, 0)
        return json_response(answers.minute(query_params.tenant(tenant), at))

    @router.get("/v1/timeline")
    async def timeline(
        first: Annotated[str | None, Query(alias="from")] = None,
        last: Annotated[str | None, Query(alias="to")] = None,
    ) -> Response:
        return json_response(answers.timeline(*query_params.minutes(first, last, clock())))

    @router.get("/v1/pipes/{pipe}")
    def pipe(
        pipe: Annotated[str, Path()],
        tenant: Text = None,
        first: Annotated[str | None, Query(alias="from")] = None,
    ) -> Response:
        hour_ago = clock() // MINUTE_MS - 59
        since = query_params.minute("from", first, hour_ago)
        return json_response(answers.pipe(query_params.tenant(tenant), pipe, since))

    @router.get("/v1/events/{event_id:path}")
    def event(event_id: Annotated[str, Path()], tenant: Text = None, since: Text = None) -> Response:
        seconds = query_params.number("since", since, _SEARCH_SECONDS, 1, _MOST_SEARCH_SECONDS)
        return json_response(answers.places(query_params.tenant(tenant), event_id, seconds))


def _add_days(router: APIRouter, answers: Queries) -> None:
    @router.get("/v1/days/{day}")
    def day(day: Annotated[str, Path()], tenant: Text = None) -> Response:
        return json_response(answers.day(query_params.tenant(tenant), query_params.day(day)))

    @router.get("/v1/calendar")
    def calendar(tenant: Text = None, days: Text = None) -> Response:
        count = query_params.number("days", days, _DEFAULT_DAYS, 1, query_params.MOST_DAYS)
        return json_response(answers.calendar(query_params.tenant(tenant), count))

    @router.get("/v1/calendar/{day}")
    def calendar_day(day: Annotated[str, Path()], tenant: Text = None) -> Response:
        return json_response(answers.calendar_day(query_params.tenant(tenant), query_params.day(day)))


def _add_present(router: APIRouter, answers: Queries) -> None:
    @router.get("/v1/tenants")
    async def tenants() -> Response:
        return json_response(answers.tenants())

    @router.get("/v1/now")
    def now(tenant: Text = None) -> Response:
        return json_response(answers.now(query_params.tenant(tenant)))

    @router.get("/v1/destinations")
    async def destinations(tenant: Text = None) -> Response:
        return json_response(answers.destinations(query_params.tenant(tenant)))

    @router.get("/v1/skew")
    async def skew(tenant: Text = None) -> Response:
        return json_response(answers.skews(query_params.tenant(tenant)))

    @router.get("/v1/stability")
    async def stability(first: Annotated[str | None, Query(alias="from")] = None) -> Response:
        return json_response(answers.stability(query_params.minute("from", first, 0)))

    @router.get("/v1/activities")
    async def activities() -> Response:
        return json_response(answers.activities())

    @router.get("/v1/alarms")
    async def alarms(
        tenant: Text = None, is_open: Annotated[str | None, Query(alias="open")] = None
    ) -> Response:
        return json_response(answers.alarms(query_params.tenant(tenant), query_params.flag("open", is_open)))


def _add_quiet(router: APIRouter, answers: Queries) -> None:
    @router.get("/v1/quiet")
    async def windows(tenant: Text = None) -> Response:
        return json_response(answers.quiet(query_params.tenant(tenant)))

    @router.post("/v1/quiet")
    async def add(request: Request) -> Response:
        window = _parse_window(await _body(request))
        return json_response(await run_in_threadpool(answers.add_quiet, window), HTTPStatus.CREATED)

    @router.delete("/v1/quiet/{window}")
    def remove(window: Annotated[str, Path()]) -> Response:
        if not answers.remove_quiet(window):
            return _refused(f"window: there is no quiet window {window[:40]!r}", HTTPStatus.NOT_FOUND)
        return Response(status_code=HTTPStatus.NO_CONTENT)


async def _body(request: Request) -> bytes:
    """A request's body.

    Raises:
        BadParameterError: if it is too large.
    """
    body = b""
    async for chunk in request.stream():
        body += chunk
        if len(body) > _MOST_BODY:
            raise BadParameterError(f"body: send at most {_MOST_BODY:,} bytes")
    return body


def _parse_window(body: bytes) -> QuietWindow:
    """The window that a request asks for.

    Raises:
        BadParameterError: if it is not one.
    """
    try:
        return _window.decode(body)
    except PARSE_ERRORS as error:
        said = "nested too deep" if isinstance(error, RecursionError) else error
        raise BadParameterError(
            f"body: {said}; send a JSON object with from_ms, until_ms and reason"
        ) from None


def _add_errors(app: FastAPI) -> None:
    def bad_parameter(_: Request, error: Exception) -> Response:
        return _refused(str(error), HTTPStatus.BAD_REQUEST)

    def window_wrong(_: Request, error: Exception) -> Response:
        field = error.field if isinstance(error, WindowError) else "body"
        return _refused(f"{field}: {error}", HTTPStatus.BAD_REQUEST)

    def unreadable(_: Request, error: Exception) -> Response:
        fields: list[Any] = list(error.errors()) if isinstance(error, RequestValidationError) else []
        names = ", ".join(str(field["loc"][-1]) for field in fields)
        return _refused(f"{names}: cannot be read; give it once, as text", HTTPStatus.BAD_REQUEST)

    def away(_: Request, error: Exception) -> Response:
        _log.warning("query not answered: the store or Kafka is away", extra={"error": str(error)})
        return _refused(f"{error}; ask again in a minute", HTTPStatus.SERVICE_UNAVAILABLE)

    def busy(_: Request, error: Exception) -> Response:
        answer = _refused(f"{error}; ask again after Retry-After", HTTPStatus.SERVICE_UNAVAILABLE)
        answer.headers["Retry-After"] = _BUSY_SECONDS
        return answer

    def unknown(request: Request, error: Exception) -> Response:
        status = error.status_code if isinstance(error, HTTPException) else HTTPStatus.NOT_FOUND
        if status == HTTPStatus.METHOD_NOT_ALLOWED:
            return _refused(f"method: {request.url.path[:100]} does not take {request.method}", status)
        return _refused(f"path: there is nothing at {request.url.path[:100]}", status)

    app.add_exception_handler(BadParameterError, bad_parameter)
    app.add_exception_handler(RequestValidationError, unreadable)
    app.add_exception_handler(StoreError, away)
    app.add_exception_handler(UnavailableError, away)
    app.add_exception_handler(BusyError, busy)
    app.add_exception_handler(WindowError, window_wrong)
    app.add_exception_handler(HTTPException, unknown)
    app.add_exception_handler(Exception, _unexpected)


def _unexpected(_: Request, error: Exception) -> Response:
    _log.error("answer failed unexpectedly", exc_info=error)
    return _refused("unexpected error; ask again, and tell us if it lasts", HTTPStatus.INTERNAL_SERVER_ERROR)
