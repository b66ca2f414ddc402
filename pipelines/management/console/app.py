"""The console as an ASGI application: the page, its files, health and metrics."""

from collections.abc import Awaitable, Callable
from http import HTTPStatus
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from nicegui import app as nicegui
from nicegui import ui
from prometheus_client import CollectorRegistry, Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.responses import PlainTextResponse
from starlette.staticfiles import StaticFiles

from pipelines.management.console.api_client import ApiClient
from pipelines.management.console.fair_threads import FairThreads
from pipelines.management.console.meter.address import add_meter_page
from pipelines.management.console.meter.page import PageSettings
from pipelines.management.console.pages.routes import add_pages
from pipelines.management.console.pages.visit import Desk
from pipelines.management.console.plain_page import failure_page, head_files
from pipelines.management.console.poller import Pollers
from pipelines.management.console.same_origin import SameOrigin
from pipelines.management.console.session import Sessions
from pipelines.management.console.settings import ConsoleSettings
from pipelines.management.console.signing_in.invitations import add_invitation
from pipelines.management.console.signing_in.issuer_sign_in import add_issuer_sign_in, code_flow
from pipelines.management.console.signing_in.issuer_threads import renewal
from pipelines.management.console.signing_in.page_guard import PageGuard, waiting_pages
from pipelines.management.console.signing_in.sign_in import HOME, INVITATION, SIDES, SIGN_IN, add_sign_in
from shared.runtime.clock import Clock
from shared.runtime.known_hosts import KnownHosts
from shared.runtime.metrics import ConsoleMetric
from shared.runtime.process_metrics import process_registry
from shared.runtime.request_bodies import BodyRefusedError, BoundedBodies


class ConsoleMetrics:
    """The console's metrics, in their own registry."""

    def __init__(self, pollers: Pollers) -> None:
        self.registry = into = process_registry("console")
        pages = Gauge(ConsoleMetric.PAGES, "Pages that are open", registry=into)
        pages.set_function(lambda: pollers.watchers)
        Gauge(ConsoleMetric.READY, "1 when ready", registry=into).set(1)


_FILES: Final = Path(__file__).parent / "static"
_HEAD: Final = head_files() + '<meta name="referrer" content="same-origin">'
_RECONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    # Vue compiles its templates in the browser, which needs eval. The page loads nothing from other hosts.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "X-Frame-Options": "DENY",
    # Not no-referrer: a browser then calls the origin of the console's own forms null.
    "Referrer-Policy": "same-origin",
}


def create_app(
    settings: ConsoleSettings, pollers: Pollers, management: ApiClient | None, clock: Clock
) -> FastAPI:
    """The application. NiceGUI registers pages globally, so a process can have only one.

    Args:
        settings: of the process.
        pollers: of observe, for the meter's page.
        management: client of the management API; None leaves the pages of documents out.
        clock: epoch milliseconds.
    """
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    _add_probes(app, ConsoleMetrics(pollers).registry)
    desk = None if management is None else _add_people(app, settings, management, clock)
    guarded = desk if settings.tls else None
    app.add_middleware(
        PageGuard,
        sessions=None if desk is None else desk.sessions,
        waiting=waiting_pages,
        open_meter=guarded is None,
    )
    _add_defences(app, settings)
    nicegui.exception_handler(HTTPStatus.NOT_FOUND)(_nothing_here)
    of_pages = PageSettings(
        side=settings.side,
        clock=clock,
        documents=None if desk is None else HOME,
        access_seconds=settings.access_seconds,
    )
    add_meter_page(pollers, of_pages, _add_head, guarded)
    app.mount("/static", StaticFiles(directory=_FILES))
    ui.run_with(
        app,
        title="hifi",
        favicon=_FILES / "favicon.svg",
        dark=None,
        language="en-GB",
        tailwind=False,
        binding_refresh_interval=None,
        reconnect_timeout=_RECONNECT_SECONDS,
        show_welcome_message=False,
    )
    return app


def _add_defences(app: FastAPI, settings: ConsoleSettings) -> None:
    app.middleware("http")(_with_headers)
    app.add_middleware(SameOrigin, public=settings.public_url)
    app.add_middleware(KnownHosts, names=settings.names)
    # Around all others: NiceGUI's polling takes bodies as well, before anybody is signed in.
    app.add_middleware(
        BoundedBodies, seconds=settings.body_timeout, together=settings.bodies_bytes, refuse=_refused_body
    )


def _add_probes(app: FastAPI, registry: CollectorRegistry) -> None:
    @app.get("/healthz")
    async def alive() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz")
    async def ready() -> dict[str, bool]:
        # Ready even if observe does not answer: the page itself reports that.
        return {"ready": True}

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(registry), media_type=CONTENT_TYPE_LATEST)


def _refused_body(error: BodyRefusedError) -> Response:
    return PlainTextResponse(error.detail, error.status, error.headers)


def _add_people(app: FastAPI, settings: ConsoleSettings, management: ApiClient, clock: Clock) -> Desk:
    """Signing in, and the pages that need it; gives what those share."""
    flow, issuer = code_flow(settings, clock), settings.oidc_issuer
    sessions = Sessions(clock, None if flow is None else renewal(flow))
    add_sign_in(app, management, sessions, issuer=issuer, secure=settings.tls)
    if flow is not None:
        add_issuer_sign_in(app, management, sessions, flow, clock, secure=settings.tls)
    add_invitation(app, management, sessions, issuer=issuer, secure=settings.tls)
    desk = Desk(
        client=management,
        sessions=sessions,
        threads=FairThreads(),
        issuer=issuer,
        public=settings.public_url,
    )
    add_pages(desk, _add_head)
    return desk


async def _nothing_here(_: Request, __: Exception) -> Response:
    """NiceGUI builds a page of its own for this, which stays for a minute."""
    return failure_page("There is nothing here.", HTTPStatus.NOT_FOUND)


def _add_head() -> None:
    ui.add_head_html(_HEAD)


async def _with_headers(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await answer(request)
    for name, value in _HEADERS.items():
        response.headers[name] = value
    if request.url.path.startswith((HOME, SIDES, SIGN_IN, INVITATION)):
        response.headers["Cache-Control"] = "no-store"  # another person may go back in this browser
    return response
