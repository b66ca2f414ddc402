"""A load without a session leaves nothing behind in the process."""

import pytest
from fastapi.testclient import TestClient
from nicegui import Client

from pipelines.management.console.api_client import ApiClient
from pipelines.management.console.app import create_app
from pipelines.management.console.observe_client import ObserveClient
from pipelines.management.console.poller import Pollers
from pipelines.management.console.settings import ConsoleSettings

AWAY = "http://127.0.0.1:9"


@pytest.fixture(scope="module")
def console() -> TestClient:
    settings = ConsoleSettings.model_validate({"api": AWAY, "public_url": "https://console.example.com"})
    pollers = Pollers(ObserveClient(AWAY, 1), 5, lambda: 0)
    app = create_app(settings, pollers, ApiClient(AWAY, 1), lambda: 0)
    return TestClient(app, base_url="https://console.example.com", follow_redirects=False)


@pytest.mark.parametrize(
    ("path", "status", "holds"),
    [
        ("/", 303, ""),
        ("/documents", 303, ""),
        ("/documents/shop/pipes", 303, ""),
        ("/documents/a/b/c/d/e/f", 303, ""),
        ("/sides", 303, ""),
        ("/nothing", 404, "There is nothing here."),
        ("/_nicegui/nothing", 404, "There is nothing here."),
        ("/sign-in?reason=ended&next=/sides", 200, "Your session has ended."),
        ("/invitation?reason=refused", 200, "This invitation is unknown"),
    ],
)
def test_a_load_without_a_session_builds_no_page_object(
    console: TestClient, path: str, status: int, holds: str
) -> None:
    before = set(Client.instances)
    answer = console.get(path)
    assert (answer.status_code, set(Client.instances)) == (status, before)
    assert holds in answer.text
    assert answer.headers["x-frame-options"] == "DENY"


def test_the_forms_are_whole_pages(console: TestClient) -> None:
    text = console.get("/sign-in?next=/sides").text
    for part in (
        "<!DOCTYPE html>",
        'lang="en-GB"',
        "/static/style.css",
        'name="next" type="hidden" value="/sides"',
    ):
        assert part in text
