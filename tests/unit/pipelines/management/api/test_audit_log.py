"""Rows of refused requests count upwards, and a request that may have succeeded has its own row."""

import threading
from collections.abc import Callable
from typing import Any

import pytest
from msgspec.structs import replace

from pipelines.management.api.rights.audit import AuditLog, AuditRow, row_of
from pipelines.management.api.rights.callers import Caller
from shared.contracts.api_answers.access import Role
from tests.harness.waiting import eventually

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


def log_in(items: Items) -> AuditLog:
    given: Any = items
    return AuditLog(given)


def row(status: int, caller: Caller = CALLER) -> AuditRow:
    return row_of(caller, "PUT", "/v1/x", status=status, at_ms=60_000, detail="")


def recorder(items: Items) -> Callable[[int], None]:
    log = log_in(items)
    return lambda status: log.refused(CALLER, "t", row(status))


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


def test_hardly_any_other_reason_waits() -> None:
    """Reasons share 64 locks, so a few of a hundred wait for the slow one."""
    items, first, end = Items(), threading.Event(), threading.Event()

    def slow(row: AuditRow) -> None:
        if row.status == 412:
            first.set()
            end.wait(120)

    items.before = slow
    log = log_in(items)
    threads = [threading.Thread(target=log.refused, args=(CALLER, "t", row(412)))]
    threads[0].start()
    assert first.wait(60)
    others = [replace(CALLER, id=str(number)) for number in range(100, 200)]
    threads += [threading.Thread(target=log.refused, args=(each, "t", row(409, each))) for each in others]
    for thread in threads[1:]:
        thread.start()
    try:
        eventually(lambda: len(items.rows) > 75, 60, "others are written meanwhile")
    finally:
        end.set()
        for thread in threads:
            thread.join()
    assert len(items.rows) == 101


@pytest.mark.parametrize("status", [200, 500, 502, 503])
def test_each_write_that_may_have_been_done_has_a_row(status: int) -> None:
    items = Items()
    log = log_in(items)
    for _ in range(40):
        log.record(CALLER, "t", row(status))
    assert [row.count for row in items.rows.values()] == [1] * 40


def test_refused_ones_share_a_row() -> None:
    items = Items()
    record = recorder(items)
    for _ in range(40):
        record(412)
    assert [row.count for row in items.rows.values()] == [32]
