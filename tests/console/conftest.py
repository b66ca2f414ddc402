"""Console processes over real observe processes, and a real headless Chromium."""

import os
import shutil
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest
from playwright.sync_api import Browser, Page, expect, sync_playwright

from tests.console.console_process import ConsoleProcess, running_console
from tests.console.documents import Office
from tests.console.people import People
from tests.contract.conftest import dynamodb_local, own_tables, patient_tables
from tests.contract.management.api_process import ApiProcess, running_api
from tests.contract.observe.conftest import start, store_url
from tests.harness.oidc_provider import CLIENT, SECRET, OidcProvider
from tests.harness.waiting import eventually, free_port

__all__ = ["dynamodb_local", "own_tables", "patient_tables", "start", "store_url"]

StartConsole = Callable[..., ConsoleProcess]
Open = Callable[..., Page]
UNUSED_PORT = 9
"""A port on which nothing listens."""

PAGE_MS = 60_000
"""Milliseconds for a page to show a change. It looks every 3 s, at data that others poll every 2 s."""


@pytest.fixture(scope="package")  # Playwright keeps an event loop running in this thread until it is closed
def chromium() -> Iterator[Browser]:
    """The machine's Chromium, or the one that `make browser` installed."""
    expect.set_options(timeout=PAGE_MS)
    names = ("chromium", "chromium-browser", "google-chrome")
    found = next((path for name in names if (path := shutil.which(name))), None)
    with sync_playwright() as playwright:
        # Containers have no user namespaces for the sandbox; the pages are hifi's own.
        browser = playwright.chromium.launch(
            executable_path=found, args=["--no-sandbox"], timeout=2 * PAGE_MS
        )
        yield browser
        browser.close()


@pytest.fixture
def artefacts(request: pytest.FixtureRequest, tmp_path: Path) -> Path:
    """Folder of screenshots: below HIFI_ARTEFACTS if that is set, else temporary."""
    kept = os.environ.get("HIFI_ARTEFACTS")
    folder = Path(kept) / "console" if kept else tmp_path
    folder.mkdir(parents=True, exist_ok=True)
    return folder


@pytest.fixture
def start_console(tmp_path: Path) -> Iterator[StartConsole]:
    """Starts consoles for a test; each must end cleanly, with status 0."""
    started: list[ConsoleProcess] = []

    def begin(observe_port: int, **settings: str) -> ConsoleProcess:
        log = tmp_path / f"console-{len(started)}.log"
        started.append(ConsoleProcess(f"http://127.0.0.1:{observe_port}", log, **settings))
        eventually(started[-1].ready)
        return started[-1]

    yield begin
    assert [process.stop() for process in started] == [0] * len(started)


@pytest.fixture
def other_origins() -> set[str]:
    """Other origins to which a test's pages may lead."""
    return set()


@pytest.fixture
def open_page(chromium: Browser, other_origins: set[str]) -> Iterator[Open]:
    """Opens pages; fails if one requests anything from another host, or logs an error."""
    pages: list[Page] = []
    asked: list[str] = []
    wrong: list[str] = []

    def open_it(url: str, width: int = 1280, height: int = 900, dark: bool = False) -> Page:
        page = chromium.new_page(
            viewport={"width": width, "height": height}, color_scheme="dark" if dark else "light"
        )
        page.set_default_timeout(PAGE_MS)
        page.on("request", lambda request: asked.append(request.url))
        page.on("websocket", lambda socket: asked.append(socket.url.replace("ws:", "http:", 1)))
        page.on("pageerror", lambda error: wrong.append(str(error)))
        page.on("console", lambda message: wrong.append(message.text) if message.type == "error" else None)
        pages.append(page)
        page.goto(url)
        return page

    yield open_it
    origins = {page.evaluate("location.origin") for page in pages if not page.is_closed()}
    for page in pages:
        page.close()
    allowed = (*origins, *other_origins, "data:", "blob:")
    outside = [url for url in asked if not url.startswith(allowed)]
    assert not outside and bool(asked) == bool(pages), outside
    assert not wrong, wrong


@pytest.fixture(scope="session")
def api(dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ApiProcess]:
    """One process for all tests, which use tenants of their own."""
    with running_api(tmp_path_factory.mktemp("api"), dynamodb_local) as process:
        yield process


@pytest.fixture(scope="session")
def office_console(api: ApiProcess, tmp_path_factory: pytest.TempPathFactory) -> Iterator[ConsoleProcess]:
    """A console with the pages of documents, for all tests, without an observe."""
    log = tmp_path_factory.mktemp("console") / "console.log"
    with running_console(UNUSED_PORT, log, api=api.url) as process:
        yield process


@pytest.fixture(scope="module")
def provider() -> Iterator[OidcProvider]:
    """An issuer at which people sign in."""
    provider = OidcProvider()
    yield provider
    provider.close()


@pytest.fixture(scope="module")
def signed_office(
    provider: OidcProvider, dynamodb_local: str, tmp_path_factory: pytest.TempPathFactory
) -> Iterator[tuple[ConsoleProcess, ApiProcess]]:
    """An API and a console for people who sign in at the issuer."""
    folder, port = tmp_path_factory.mktemp("signed"), free_port()
    api = ApiProcess(folder, dynamodb_local, oidc_issuer=provider.issuer, oidc_audience=CLIENT)
    console = ConsoleProcess(
        f"http://127.0.0.1:{UNUSED_PORT}",
        folder / "console.log",
        api=api.url,
        port=str(port),
        public_url=f"http://127.0.0.1:{port}",
        oidc_issuer=provider.issuer,
        oidc_client_id=CLIENT,
        oidc_client_secret=SECRET,
    )
    provider.redirect = f"{console.url}/sign-in/callback"
    eventually(console.ready)
    yield console, api
    assert console.stop() == 0
    api.kill()


@pytest.fixture
def people(
    provider: OidcProvider,
    signed_office: tuple[ConsoleProcess, ApiProcess],
    open_page: Open,
    other_origins: set[str],
) -> People:
    console, api = signed_office
    other_origins.update({console.url, f"http://127.0.0.1:{provider.port}"})
    return People(console, api, open_page, provider)


@pytest.fixture
def office(api: ApiProcess, office_console: ConsoleProcess, open_page: Open) -> Office:
    return Office(office_console, api, open_page)
