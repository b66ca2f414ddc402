"""The console as an ASGI application: the page, its files, health and metrics."""

from collections.abc import Awaitable, Callable
from pathlib import Path
from typing import Final

from fastapi import FastAPI, Request, Response
from nicegui import Client, ui
from prometheus_client import Gauge, generate_latest
from prometheus_client.exposition import CONTENT_TYPE_LATEST
from starlette.staticfiles import StaticFiles

from pipelines.management.console.page import HOURS, shown
from pipelines.management.console.poller import Pollers, View
from pipelines.management.console.settings import ConsoleSettings
from shared.contracts.scorecard import ALL_TENANTS
from shared.runtime.clock import Clock
from shared.runtime.metrics import ConsoleMetric
from shared.runtime.process_metrics import process_registry


class ConsoleMetrics:
    """The console's metrics, in their own registry."""

    def __init__(self, pollers: Pollers) -> None:
        self.registry = into = process_registry("console")
        pages = Gauge(ConsoleMetric.PAGES, "Pages that are open", registry=into)
        pages.set_function(lambda: pollers.watchers)
        Gauge(ConsoleMetric.READY, "1 when ready", registry=into).set(1)


_FILES: Final = Path(__file__).parent / "static"
_HEAD: Final = (
    '<link rel="stylesheet" href="/static/style.css"><script src="/static/page.js"></script>'
    '<meta name="referrer" content="no-referrer">'
)
_RECONNECT_SECONDS: Final = 10.0
_HEADERS: Final = {
    # Vue compiles its templates in the browser, which needs eval. The page loads nothing from other hosts.
    "Content-Security-Policy": "default-src 'self'; script-src 'self' 'unsafe-inline' 'unsafe-eval'; "
    "style-src 'self' 'unsafe-inline'; img-src 'self' data:; font-src 'self' data:; frame-ancestors 'none'; "
    "base-uri 'none'; form-action 'self'",
    "X-Content-Type-Options": "nosniff",
    "Referrer-Policy": "no-referrer",
}


def create_app(settings: ConsoleSettings, pollers: Pollers, clock: Clock) -> FastAPI:
    """The application. NiceGUI registers pages globally, so a process can have only one."""
    app = FastAPI(docs_url=None, redoc_url=None, openapi_url=None)
    meters = ConsoleMetrics(pollers)
    app.middleware("http")(_with_headers)

    @app.get("/healthz")
    async def alive() -> dict[str, bool]:
        return {"alive": True}

    @app.get("/readyz")
    async def ready() -> dict[str, bool]:
        # Ready even if observe does not answer: the page itself reports that.
        return {"ready": True}

    @app.get("/metrics")
    async def metrics() -> Response:
        return Response(generate_latest(meters.registry), media_type=CONTENT_TYPE_LATEST)

    @ui.page("/", title="hifi")
    async def page(client: Client, tenant: str = ALL_TENANTS, hours: int = 1) -> None:
        ui.add_head_html(_HEAD)
        shown(
            pollers, client, View(tenant or ALL_TENANTS, hours if hours in HOURS else 1), settings.side, clock
        )

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


async def _with_headers(request: Request, answer: Callable[[Request], Awaitable[Response]]) -> Response:
    response = await answer(request)
    for name, value in _HEADERS.items():
        response.headers[name] = value
    return response
