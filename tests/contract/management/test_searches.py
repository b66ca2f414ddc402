"""Searches for events hold few threads of the API, however many are asked for."""

import threading
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path

import pytest

from pipelines.management.api.meter_routes import SEARCHES_AT_ONCE
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.http_server import QuietHandler, http_served

PATH = "/v1/tenants/acme/meter/events/e1"


class SlowObserve:
    """Answers when the test lets it."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.busy = False


@pytest.fixture
def observe(dynamodb_local: str, tmp_path: Path) -> Iterator[tuple[ApiProcess, SlowObserve]]:
    slow = SlowObserve()

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            slow.begun.release()
            slow.may_end.wait(25)
            if not slow.busy:
                self.respond(200, b"{}")
                return
            self.send_response(503)
            self.send_header("Retry-After", "7")
            self.send_header("Content-Length", "16")
            self.end_headers()
            self.wfile.write(b'{"error":"busy"}')

    with http_served(Handler) as url, running_api(tmp_path, dynamodb_local, observe_url=url) as api:
        yield api, slow
        slow.may_end.set()


def test_the_third_search_at_once_is_told_to_come_back(observe: tuple[ApiProcess, SlowObserve]) -> None:
    api, slow = observe
    with ThreadPoolExecutor(SEARCHES_AT_ONCE) as pool:
        running = [pool.submit(api.ask, "GET", PATH) for _ in range(SEARCHES_AT_ONCE)]
        for _ in running:
            assert slow.begun.acquire(timeout=20)
        refused = api.ask("GET", PATH)
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert "2 searches for events run already" in refused.json["detail"]
        slow.may_end.set()
        assert [each.result().status for each in running] == [200] * SEARCHES_AT_ONCE
    assert api.ask("GET", PATH).status == 200


def test_when_observe_is_busy_its_wait_is_passed_on(observe: tuple[ApiProcess, SlowObserve]) -> None:
    api, slow = observe
    slow.busy = True
    slow.may_end.set()
    answer = api.ask("GET", PATH)
    assert (answer.status, answer.headers["retry-after"], answer.json["detail"]) == (503, "7", "busy")
