"""Deletions of a tenant's documents: names come and go, and no version is lost or written twice."""

import threading
from collections import Counter

import msgspec
import pytest

from shared.contracts.document_items import Change, StoredDocument
from shared.dynamodb.client import StoreError, dynamodb_client
from shared.dynamodb.document_table import DocumentTable
from tests.contract.dynamodb.test_document_table import key, put


def test_a_creation_that_did_not_see_a_deletion_leave_writes_over_no_version(
    table: DocumentTable, url: str
) -> None:
    """A read between the two halves of a transaction may see neither of them."""
    (first,) = put(table, "a")
    (gone,) = table.write("acme", [Change(key=key("a"), document=None)], by="bob", at_ms=2)
    table.remove(gone)
    unseen = {"tenant": {"S": "deleted#acme"}, "document": {"S": "destination/a"}}
    dynamodb_client(url).delete_item(TableName=table._table, Key=unseen)
    with pytest.raises(StoreError, match="came in between"):
        put(DocumentTable(table._table, url, pause=lambda _: None), "a", timeout=7)
    assert table.history("acme", key("a")) == [gone, first]


def test_what_was_deleted_long_ago_is_not_adopted_from_another_side(table: DocumentTable) -> None:
    (old,) = put(table, "a")
    (gone,) = table.write("acme", [Change(key=key("a"), document=None)], by="bob", at_ms=2)
    table.remove(gone)
    table.adopt("green", [msgspec.structs.replace(old, by="import")])
    assert table.documents("acme") == []
    assert table.get("acme", key("a")) == gone


def test_a_name_that_is_deleted_removed_and_made_at_the_same_time_loses_no_version(
    dynamodb_local: str,
) -> None:
    table = DocumentTable("removals", dynamodb_local)
    table.ensure()
    written: list[StoredDocument] = []
    over = threading.Event()

    def write(writer: int) -> None:
        for number in range(8):
            written.extend(put(table, "a", timeout=1 + (writer * 10 + number) / 100))
            gone = Change(key=key("a"), document=None)
            written.extend(table.write("acme", [gone], by="bob", at_ms=2))

    def remove() -> None:
        while not over.is_set():
            found = table.get("acme", key("a"))
            if found is not None and found.document is None:
                table.remove(found)

    threads = [threading.Thread(target=write, args=(writer,)) for writer in range(3)]
    removing = threading.Thread(target=remove)
    for thread in (*threads, removing):
        thread.start()
    for thread in threads:
        thread.join()
    over.set()
    removing.join()
    kept = table.history("acme", key("a"))
    assert [each.version for each in kept] == list(range(len(kept), 0, -1))
    assert Counter(map(repr, written)) == Counter(map(repr, kept))
