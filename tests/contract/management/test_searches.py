"""Event searches occupy few threads of the API, however many are requested."""

import socket
import threading
from collections.abc import Iterator, Mapping
from concurrent.futures import ThreadPoolExecutor
from http.server import BaseHTTPRequestHandler
from pathlib import Path
from typing import ClassVar

import pytest

from pipelines.management.api.dead_letters import AT_ONCE
from pipelines.management.api.routes.meter import SEARCHES_AT_ONCE
from shared.contracts.limits import MAX_ID_BYTES
from tests.contract.management.api_process import ApiProcess, running_api
from tests.harness.http_server import QuietHandler, http_served
from tests.harness.service_process import Answer
from tests.harness.waiting import eventually


def path(tenant: str) -> str:
    return f"/v1/tenants/{tenant}/meter/events/e1"


class SlowObserve:
    """Answers when the test permits it."""

    def __init__(self) -> None:
        self.begun, self.may_end = threading.Semaphore(0), threading.Event()
        self.busy = self.unknown = False


@pytest.fixture
def observe(dynamodb_local: str, tmp_path: Path) -> Iterator[tuple[ApiProcess, SlowObserve]]:
    slow = SlowObserve()

    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            slow.begun.release()
            slow.may_end.wait(120)
            if slow.unknown:
                self.respond(404, b'{"error":"path: there is nothing"}')
                return
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


def test_a_search_beyond_the_servers_or_the_tenants_limit_is_refused_with_a_wait(
    observe: tuple[ApiProcess, SlowObserve],
) -> None:
    api, slow = observe
    tenants = [f"t{number}" for number in range(SEARCHES_AT_ONCE)]
    with ThreadPoolExecutor(SEARCHES_AT_ONCE) as pool:
        running = [pool.submit(api.ask, "GET", path(tenants[0]))]
        assert slow.begun.acquire(timeout=60)
        refused = api.ask("GET", path(tenants[0]))
        assert (refused.status, refused.headers["retry-after"]) == (429, "5")
        assert "for this tenant" in refused.json["detail"]
        running += [pool.submit(api.ask, "GET", path(tenant)) for tenant in tenants[1:]]
        for _ in tenants[1:]:
            assert slow.begun.acquire(timeout=60), "another tenant has room"
        refused = api.ask("GET", path("one-more"))
        assert (refused.status, refused.headers["retry-after"]) == (503, "5")
        assert "2 searches for events run already" in refused.json["detail"]
        slow.may_end.set()
        assert [each.result().status for each in running] == [200] * SEARCHES_AT_ONCE
    assert api.ask("GET", path(tenants[0])).status == 200


def test_when_observe_is_busy_its_wait_is_passed_on(observe: tuple[ApiProcess, SlowObserve]) -> None:
    api, slow = observe
    slow.busy = True
    slow.may_end.set()
    answer = api.ask("GET", path("acme"))
    assert (answer.status, answer.headers["retry-after"], answer.json["detail"]) == (503, "7", "busy")


def test_a_parameter_that_observe_cannot_be_asked_for_is_refused_by_its_name(
    observe: tuple[ApiProcess, SlowObserve],
) -> None:
    api, slow = observe
    slow.may_end.set()
    long = "%FF" * 7_400
    for asked, name in (
        (f"events/{long}", "event_id"),
        (f"events/e1?since={long}", "since"),
        (f"minutes?from={long}", "from"),
        (f"minutes/{long}", "minute"),
        ("minutes/..", "minute"),
        ("days/%2e", "day"),
        ("events/..", "event_id"),
    ):
        answer = api.ask("GET", f"/v1/tenants/acme/meter/{asked}")
        assert (answer.status, answer.json["detail"].partition(":")[0]) == (400, name), asked[:80]
    assert not slow.begun.acquire(blocking=False), "observe is not asked"
    longest = "%C3%BC" * (MAX_ID_BYTES // 2)
    assert api.ask("GET", f"/v1/tenants/acme/meter/events/{longest}").status == 200


def test_what_observe_does_not_have_is_not_found(observe: tuple[ApiProcess, SlowObserve]) -> None:
    api, slow = observe
    slow.unknown = True
    slow.may_end.set()
    assert api.ask("GET", path("acme")).status == 404


class HastyApi(ApiProcess):
    """An API that waits a second for brokers."""

    times: ClassVar[Mapping[str, float]] = {"pipelines.management.api.dead_letters._BROKERS_SECONDS": 1.0}


@pytest.fixture
def silent_brokers() -> Iterator[str]:
    """An address that accepts connections and never answers."""
    with socket.create_server(("127.0.0.1", 0), backlog=100) as server:
        yield "{}:{}".format(*server.getsockname())


def test_one_tenants_searches_for_dead_letters_leave_room_for_anothers(
    dynamodb_local: str, tmp_path: Path, silent_brokers: str
) -> None:
    ended = threading.Event()

    def letters(tenant: str) -> Answer:
        return api.ask("GET", f"/v1/tenants/{tenant}/dead-letters")

    def search_on() -> None:
        while not ended.is_set():
            letters("busy")

    with (
        running_api(tmp_path, dynamodb_local, HastyApi, bootstrap=silent_brokers) as api,
        ThreadPoolExecutor(AT_ONCE) as pool,
    ):
        for _ in range(AT_ONCE):
            pool.submit(search_on)
        try:
            eventually(lambda: letters("busy").status == 429, 60, "the tenant has as many as it may have")
            assert "the side's brokers do not answer" in letters("calm").json["detail"]
        finally:
            ended.set()
