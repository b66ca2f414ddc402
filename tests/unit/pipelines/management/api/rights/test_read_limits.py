"""One tenant's document reads leave threads to the others, however many it sends."""

import asyncio
from collections import Counter
from collections.abc import Sequence
from http import HTTPStatus
from typing import Any, Final

import httpx
import pytest

from pipelines.management.api.rights.read_limits import AT_ONCE, OF_TENANT, ReadLimits
from shared.contracts.document_items import DocumentKey
from tests.unit.pipelines.management.api.whole_app import SECONDS, Client, Gate, app_over, comes, played

MANY: Final = 50
"""More than the number of threads."""

_SHIPPED: Final = pytest.param((), id="shipped", marks=pytest.mark.proof)
SOON: Final = [pytest.param((0.1,), id="quick"), _SHIPPED]
"""Seconds after which a waiting read is refused."""

LATE: Final = [pytest.param((SECONDS,), id="patient"), _SHIPPED]
"""The same, for reads that get their turn sooner."""

PATHS: Final = ("documents", "pipes", "pipes?brief=true", "pipes/p", "pipes/p/history", "pipes/p/history/1")


class Table:
    """An empty table; reads of tenants other than `calm` wait at a gate."""

    def __init__(self) -> None:
        self.gate = Gate()

    def page(self, tenant: str, *asked: Any) -> tuple[list[Any], None]:
        del asked
        if tenant != "calm":
            self.gate.wait()
        return [], None

    page_of_all = summaries = history_page = page

    def get(self, tenant: str, key: DocumentKey) -> None:
        self.page(tenant, key)

    def version_before(self, tenant: str, key: DocumentKey, version: int) -> None:
        self.page(tenant, key, version)


def read(client: Client, tenant: str, path: str = "pipes") -> "asyncio.Task[httpx.Response]":
    asked = client.ask("GET", f"/v1/tenants/{tenant}/{path}", f"viewer@{tenant}")
    return asyncio.create_task(asked)


async def counted(asked: Sequence["asyncio.Task[httpx.Response]"]) -> Counter[int]:
    return Counter(each.status_code for each in await asyncio.gather(*asked))


@pytest.mark.parametrize("wait", SOON)
@pytest.mark.parametrize("path", PATHS)
def test_one_tenants_reads_leave_threads_to_another_and_to_readiness(
    path: str, wait: tuple[float, ...]
) -> None:
    table = Table()

    async def scene(client: Client) -> None:
        found = (await read(client, "calm", path)).status_code
        asked = [read(client, "busy", path) for _ in range(MANY)]
        try:
            await comes(lambda: sum(each.done() for each in asked) == MANY - OF_TENANT)
            refused = next(each.result() for each in asked if each.done())
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
            assert "for this tenant" in refused.json()["detail"]
            assert (await read(client, "calm", path)).status_code == found
            assert (await client.ask("GET", "/readyz")).status_code == HTTPStatus.OK
        finally:
            table.gate.open()
        assert await counted(asked) == {found: OF_TENANT, 429: MANY - OF_TENANT}
        assert (await read(client, "busy", path)).status_code == found, "the permits are given back"

    played(app_over(table, reads=ReadLimits(*wait)), scene)


@pytest.mark.parametrize("wait", SOON)
def test_all_tenants_reads_together_leave_threads_to_others(wait: tuple[float, ...]) -> None:
    table = Table()

    async def scene(client: Client) -> None:
        asked = [read(client, f"t{n}") for n in range(MANY)]
        try:
            await comes(lambda: sum(each.done() for each in asked) == MANY - AT_ONCE)
            assert (await client.ask("GET", "/v1/connectors")).status_code == HTTPStatus.OK
        finally:
            table.gate.open()
        assert await counted(asked) == {200: AT_ONCE, 429: MANY - AT_ONCE}, "`hifi` sends those again"

    played(app_over(table, reads=ReadLimits(*wait)), scene)


@pytest.mark.parametrize("wait", LATE)
def test_a_burst_of_reads_as_of_a_consoles_pages_waits_for_its_turn(wait: tuple[float, ...]) -> None:
    table = Table()

    async def scene(client: Client) -> None:
        asked = [read(client, "busy") for _ in range(MANY)]
        await comes(lambda: table.gate.waiting == OF_TENANT)
        table.gate.open()
        assert await counted(asked) == {200: MANY}

    played(app_over(table, reads=ReadLimits(*wait)), scene)
