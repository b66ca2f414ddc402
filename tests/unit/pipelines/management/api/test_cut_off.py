"""A write that the process's end cuts off is in the audit log, once."""

import asyncio
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.management.api.rights.audit import AuditRow
from tests.harness.waiting import eventually
from tests.unit.pipelines.management.api.rights.test_write_limits import Table, put
from tests.unit.pipelines.management.api.whole_app import SECONDS, Client, Gate, Rows, app_over, comes, played


class SlowRows(Rows):
    """Rows wait at a gate before they are stored."""

    def __init__(self) -> None:
        super().__init__()
        self.gate = Gate()

    def put(self, partition: str, sort: str, row: AuditRow) -> None:
        self.gate.wait()
        super().put(partition, sort, row)


def cut_off(table: Any, rows: Rows, when: Callable[[], bool], gate: Gate, query: str = "") -> None:
    """Send a write, and cancel it as the server does at the end of its drain."""

    async def scene(client: Client) -> None:
        asked = put(client, "shop", f"d{query}")
        try:
            await comes(when)
            asked.cancel()
            with pytest.raises(asyncio.CancelledError):
                await asked
        finally:
            gate.open()

    played(app_over(table, rows=rows), scene)


def test_a_write_that_is_cut_off_has_a_row_which_says_that_it_may_have_been_done() -> None:
    table, rows = Table("shop"), Rows()
    cut_off(table, rows, lambda: table.gate.waiting == 1, table.gate)
    eventually(lambda: rows.kept, SECONDS, "a row is kept")
    ((partition, _),) = rows.kept
    (row,) = rows.kept.values()
    assert (partition, row.status, row.method) == ("audit#shop", 503, "PUT")
    assert (row.path, "may have been done" in row.detail) == ("/v1/tenants/shop/destinations/d", True)


def test_a_cut_off_write_with_a_row_being_stored_gets_no_second_row() -> None:
    table, rows = Table("another"), SlowRows()
    cut_off(table, rows, lambda: rows.gate.waiting == 1, rows.gate)
    eventually(lambda: rows.kept, SECONDS, "a row is kept")
    assert [row.status for row in rows.kept.values()] == [201]
    assert rows.gate.waiting == 1


def test_a_dry_run_that_is_cut_off_has_none() -> None:
    table, rows = Table("shop"), Rows()
    cut_off(table, rows, lambda: table.gate.waiting == 1, table.gate, "?dry_run=true")
    assert not rows.kept
