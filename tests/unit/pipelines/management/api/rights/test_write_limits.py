"""One tenant's writes leave threads and bodies to the others, however many it sends."""

import asyncio
import threading
from collections.abc import Sequence
from typing import Any, Final

import httpx

from pipelines.management.api.rights.write_limits import AT_ONCE, CHECKS_AT_ONCE, OF_TENANT
from shared.contracts.document_items import (
    MOST_CHANGES,
    Change,
    DocumentKey,
    StoredDocument,
    next_versions,
)
from tests.unit.pipelines.management.api.whole_app import (
    SECONDS,
    Client,
    Gate,
    app_over,
    comes,
    documents_over,
    played,
)

THREADS: Final = 40
"""Threads of the pool in which handlers run."""

SINK: Final = {"options": {"url": "https://example.com/hook"}}


class Table:
    """An empty table; writes to `held` tenants wait at a gate."""

    def __init__(self, *held: str) -> None:
        self.gate, self._held = Gate(), held

    def get(self, tenant: str, key: DocumentKey) -> None:
        del tenant, key

    def current(self, tenant: str, keys: Sequence[DocumentKey]) -> dict[DocumentKey, Any]:
        del tenant, keys
        return {}

    def write(self, tenant: str, changes: Sequence[Change], **given: Any) -> list[StoredDocument]:
        if not self._held or tenant in self._held:
            self.gate.wait()
        return next_versions(tenant, changes, {}, by=given["by"], at_ms=given["at_ms"])

    plan = write


def put(client: Client, tenant: str, name: str = "d") -> "asyncio.Task[httpx.Response]":
    path = f"/v1/tenants/{tenant}/destinations/{name}"
    return asyncio.create_task(
        client.ask("PUT", path, f"editor@{tenant}", SINK, if_none_match="*"), name=tenant
    )


def check(client: Client, tenant: str, documents: int) -> "asyncio.Task[httpx.Response]":
    bundle = {"documents": [{"kind": "destination", "name": f"d{n}", **SINK} for n in range(documents)]}
    path = f"/v1/tenants/{tenant}/apply?dry_run=true"
    return asyncio.create_task(client.ask("POST", path, f"editor@{tenant}", bundle))


async def statuses(asked: Sequence["asyncio.Task[httpx.Response]"]) -> list[int]:
    return [each.status_code for each in await asyncio.gather(*asked)]


def test_one_tenants_writes_leave_threads_to_another_and_to_readiness() -> None:
    table = Table("busy")

    async def scene(client: Client) -> None:
        asked = [put(client, "busy", f"d{n}") for n in range(THREADS + 10)]
        try:
            await comes(lambda: sum(each.done() for each in asked) == THREADS + 10 - OF_TENANT)
            refused = next(each.result() for each in asked if each.done())
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
            assert "for this tenant" in refused.json()["detail"]
            assert await statuses([put(client, "calm")]) == [201]
            assert (await client.ask("GET", "/readyz")).status_code == 200
        finally:
            table.gate.open()
        assert sorted(await statuses(asked)) == [201] * OF_TENANT + [429] * (THREADS + 10 - OF_TENANT)
        assert await statuses([put(client, "busy")]) == [201], "the permits are given back"

    played(app_over(table), scene)


def test_all_tenants_writes_together_leave_threads_to_readers() -> None:
    table = Table()

    async def scene(client: Client) -> None:
        asked = [put(client, f"t{n}") for n in range(THREADS + 10)]
        try:
            await comes(lambda: sum(each.done() for each in asked) == THREADS + 10 - AT_ONCE)
            refused = next(each.result() for each in asked if each.done())
            assert (refused.status_code, refused.headers["Retry-After"]) == (429, "1")
            assert (await client.ask("GET", "/v1/connectors")).status_code == 200
        finally:
            table.gate.open()
        await asyncio.gather(*asked)

    played(app_over(table), scene)


def test_long_dry_runs_are_fewer_and_leave_a_tenant_its_writes() -> None:
    table, many = Table("busy", "other", "third"), MOST_CHANGES + 1

    async def scene(client: Client) -> None:
        asked = [check(client, tenant, many) for tenant in ("busy", "other")]
        try:
            await comes(lambda: table.gate.waiting == CHECKS_AT_ONCE)
            again = await check(client, "busy", many)
            assert (again.status_code, again.headers["Retry-After"]) == (429, "2")
            assert "for this tenant" in again.json()["detail"]
            assert await statuses([check(client, "third", many)]) == [429]
            one = check(client, "third", 1)
            await comes(lambda: table.gate.waiting == CHECKS_AT_ONCE + 1)
        finally:
            table.gate.open()
        assert await statuses([*asked, one]) == [200] * 3

    played(app_over(table), scene)


def test_a_request_without_a_right_to_write_takes_no_permit() -> None:
    table = Table("busy")

    async def scene(client: Client) -> None:
        asked = [put(client, "busy", f"d{n}") for n in range(OF_TENANT)]
        try:
            await comes(lambda: table.gate.waiting == 1)
            path = "/v1/tenants/busy/destinations/d"
            for method in ("PUT", "DELETE"):
                refused = await client.ask(method, path, "viewer@busy", SINK, if_match="*")
                assert refused.status_code == 403
                hidden = await client.ask(method, path, "owner@other", SINK, if_match="*")
                assert hidden.status_code == 404
        finally:
            table.gate.open()
        assert await statuses(asked) == [201] * OF_TENANT

    played(app_over(table), scene)


def test_no_tenant_waits_for_another_ones_writes() -> None:
    table = Table("held")
    documents = documents_over(table)
    change = Change(key=DocumentKey("pipe", "p"), document=None)

    def write(tenant: str) -> None:
        documents.write(tenant, [change], by="ann", dry_run=False)

    threads = [threading.Thread(target=write, args=(name,)) for name in ("held", "held")]
    others = [threading.Thread(target=write, args=(f"t{n}",)) for n in range(400)]
    for thread in [*threads, *others]:
        thread.start()
    try:
        for thread in others:
            thread.join(SECONDS)
        assert not any(each.is_alive() for each in others)
        assert table.gate.waiting == 1, "one tenant's writes are serial"
    finally:
        table.gate.open()
        for thread in [*threads, *others]:
            thread.join()
