"""Rows of refused requests count upwards, and a request that may have been done has its own."""

import threading
from collections.abc import Callable
from typing import Any

import pytest

from pipelines.management.api.audit import AuditLog, AuditRow, row_of
from pipelines.management.api.callers import Caller
from pipelines.management.api.permissions import Role

LONG_ENOUGH = 0.5


class Items:
    """Rows in memory, by sort key."""

    def __init__(self) -> None:
        self.rows: dict[str, AuditRow] = {}
        self.before: Callable[[AuditRow], object] = lambda _: None

    def put(self, _: str, sort: str, row: AuditRow) -> None:
        self.before(row)
        self.rows[sort] = row


CALLER = Caller(id="1", role=Role.EDITOR, tenant="t", label="ann", expires_ms=None)


def recorder(items: Items) -> Callable[[int], None]:
    given: Any = items
    log = AuditLog(given)

    def record(status: int) -> None:
        row = row_of(CALLER, "PUT", "/v1/x", status=status, at_ms=60_000, detail="")
        log.record(CALLER, "t", row)

    return record


def test_a_lower_count_is_not_written_over_a_higher_one() -> None:
    items, second = Items(), threading.Event()

    def slow_first(row: AuditRow) -> None:
        if row.count == 1:
            second.wait(LONG_ENOUGH)
        else:
            second.set()

    items.before = slow_first
    record = recorder(items)
    threads = [threading.Thread(target=record, args=(412,)) for _ in range(2)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert [row.count for row in items.rows.values()] == [2]


def test_another_reason_does_not_wait() -> None:
    items, other = Items(), threading.Event()
    seen = []

    def slow(row: AuditRow) -> None:
        if row.status == 412:
            seen.append(other.wait(10))
        else:
            other.set()

    items.before = slow
    record = recorder(items)
    thread = threading.Thread(target=record, args=(412,))
    thread.start()
    record(200)
    thread.join()
    assert seen == [True]


@pytest.mark.parametrize("status", [500, 502, 503])
def test_each_write_that_failed_at_the_server_has_a_row(status: int) -> None:
    items = Items()
    record = recorder(items)
    for _ in range(40):
        record(status)
    assert [row.count for row in items.rows.values()] == [1] * 40


def test_refused_ones_share_a_row() -> None:
    items = Items()
    record = recorder(items)
    for _ in range(40):
        record(412)
    assert [row.count for row in items.rows.values()] == [32]
