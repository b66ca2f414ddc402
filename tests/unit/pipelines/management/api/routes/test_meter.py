"""An observe that hangs occupies few threads of the API, and none for long."""

import asyncio
from http.server import BaseHTTPRequestHandler
from typing import Final

import httpx
import pytest

from pipelines.management.api.observe_client import ObserveClient
from pipelines.management.api.routes.meter import AT_ONCE, OF_TENANT
from tests.harness.http_server import QuietHandler, http_served
from tests.unit.pipelines.management.api.whole_app import SECONDS, Client, Gate, app_over, comes, played

MANY: Final = 50
"""More than the number of threads."""

QUICK: Final = httpx.Timeout(0.5, connect=SECONDS)


def hanging(gate: Gate) -> type[BaseHTTPRequestHandler]:
    class Handler(QuietHandler, BaseHTTPRequestHandler):
        def do_GET(self) -> None:
            gate.wait()
            self.respond(200, b"{}")

    return Handler


class Hanging:
    """An observe that waits at a gate, for any time."""

    def __init__(self) -> None:
        self.gate = Gate()

    def get(self, *_: object) -> bytes:
        self.gate.wait()
        return b"{}"

    search = get


def test_requests_about_meters_leave_threads_to_others_and_one_tenants_to_anothers() -> None:
    observe = Hanging()

    async def scene(client: Client) -> None:
        def ask(tenant: str, path: str) -> "asyncio.Task[int]":
            async def status() -> int:
                asked = f"/v1/tenants/{tenant}/meter/{path}"
                return (await client.ask("GET", asked, f"viewer@{tenant}")).status_code

            return asyncio.create_task(status())

        try:
            asked = [ask("busy", "alarms") for _ in range(MANY)]
            await comes(lambda: sum(each.done() for each in asked) == MANY - OF_TENANT)
            others = [ask(f"t{n}", "events/e1" if n < 2 else "now") for n in range(MANY)]
            await comes(lambda: sum(each.done() for each in others) == MANY - (AT_ONCE - OF_TENANT))
            assert (await client.ask("GET", "/v1/connectors")).status_code == 200
        finally:
            observe.gate.open()
        assert sorted(await asyncio.gather(*asked)) == [200] * OF_TENANT + [429] * (MANY - OF_TENANT)
        served = AT_ONCE - OF_TENANT
        assert sorted(await asyncio.gather(*others)) == [200] * served + [503] * (MANY - served)

    played(app_over(observe=observe), scene)


@pytest.mark.parametrize(
    "limits", [pytest.param((QUICK,), id="quick"), pytest.param((), id="shipped", marks=pytest.mark.proof)]
)
def test_an_observe_that_hangs_is_waited_for_less_long_than_a_search_takes(
    limits: tuple[httpx.Timeout, ...],
) -> None:
    gate = Gate()

    async def scene(client: Client) -> None:
        root = "/v1/tenants/shop/meter"
        search = asyncio.create_task(client.ask("GET", f"{root}/events/e1", "viewer@shop"))
        await comes(lambda: gate.waiting == 1)
        try:
            card = await client.ask("GET", f"{root}/now", "viewer@shop")
            assert (card.status_code, card.headers["Retry-After"]) == (503, "5")
            assert not search.done(), "its time is longer"
        finally:
            gate.open()
        assert (await search).status_code == 200

    with http_served(hanging(gate)) as url:
        played(app_over(observe=ObserveClient(url, *limits)), scene)
