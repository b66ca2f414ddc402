"""Concurrent writers do not exceed a tenant's limit together, and a deletion frees its share."""

from concurrent.futures import ThreadPoolExecutor
from threading import Barrier

import pytest

from shared.contracts.document_items import Change, DocumentKey
from shared.contracts.documents import Destination
from shared.contracts.tenant_limits import TenantFullError, TenantLimits
from shared.dynamodb.document_table import DocumentTable
from tests.harness.document_changes import change_of

WRITERS = 6
MOST = 3


def put(table: DocumentTable, number: int) -> bool:
    change = change_of(Destination(name=f"d{number}", tenant="acme"))
    try:
        return bool(table.write("acme", [change], by="ann", at_ms=1, verify=lambda *_: None))
    except TenantFullError:
        return False


def limited(url: str, name: str) -> DocumentTable:
    table = DocumentTable(name, url, limits=TenantLimits(documents=MOST))
    table.ensure()
    return table


def test_writers_at_the_same_time_do_not_go_above_the_limit_together(dynamodb_local: str) -> None:
    # not in moto: a refused transaction there restores the whole table
    table = limited(dynamodb_local, "limitedwriters")
    together = Barrier(WRITERS)

    def write(writer: int) -> bool:
        together.wait()
        return put(table, writer)

    with ThreadPoolExecutor(WRITERS) as pool:
        assert sum(pool.map(write, range(WRITERS))) == MOST
    assert len(table.documents("acme")) == MOST


def test_a_deletion_gives_back_and_documents_from_before_the_limit_count(url: str) -> None:
    before = DocumentTable("limits", url)
    before.ensure()
    assert all(put(before, number) for number in range(MOST))
    table = limited(url, "limits")
    with pytest.raises(TenantFullError):
        table.plan("acme", [_new("one-more")], by="ann", at_ms=1, verify=lambda *_: None)
    assert not put(table, MOST)
    gone = Change(key=DocumentKey("destination", "d0"), document=None)
    table.write("acme", [gone], by="ann", at_ms=1, verify=lambda *_: None)
    assert put(table, MOST)
    assert not put(table, MOST + 1)


def _new(name: str) -> Change:
    return change_of(Destination(name=name, tenant="acme"))
