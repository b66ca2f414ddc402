"""A tenant's documents are read, whatever another tenant's are like."""

from collections.abc import Mapping
from typing import cast

import pytest

from pipelines.control.provision.catalogue_reader import CatalogueReader
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import Destination
from shared.dynamodb.client import StoreError
from shared.dynamodb.document_rows import UnreadableDocumentError
from shared.dynamodb.document_table import DocumentTable

KEY = DocumentKey("destination", "d")


class Table:
    """One document for each tenant; a later version wrote those of `later` tenants."""

    def __init__(self) -> None:
        self.versions = {"a": 1, "b": 1}
        self.later: set[str] = set()
        self.reads: list[str] = []
        self.fails = False

    def catalogues(self) -> Mapping[str, int]:
        return dict(self.versions)

    def documents(self, tenant: str) -> list[StoredDocument]:
        self.reads.append(tenant)
        if self.fails:
            raise StoreError("the table is throttled")
        version = self.versions[tenant]
        if tenant in self.later:
            raise UnreadableDocumentError(tenant, KEY, version, ValueError("unknown kind"))
        document = Destination(name="d", tenant=tenant)
        return [StoredDocument(tenant=tenant, key=KEY, version=version, document=document, by="ann", at_ms=1)]


@pytest.fixture
def table() -> Table:
    return Table()


def reader_of(table: Table) -> CatalogueReader:
    return CatalogueReader(cast(DocumentTable, table))


def read(reader: CatalogueReader) -> dict[str, int]:
    """Versions read, by tenant."""
    reader.refresh()
    return {each.tenant: each.version for each in reader.documents}


def test_of_a_tenant_that_cannot_be_read_any_more_the_former_documents_stay(table: Table) -> None:
    reader = reader_of(table)
    assert read(reader) == {"a": 1, "b": 1}
    table.later, table.versions = {"b"}, {"a": 2, "b": 2}
    for _ in range(3):
        assert read(reader) == {"a": 2, "b": 1}
    assert reader.unread == frozenset()


def test_a_tenant_of_which_nothing_was_read_is_named_until_it_is(table: Table) -> None:
    reader, table.later = reader_of(table), {"b"}
    assert read(reader) == {"a": 1}
    assert reader.unread == {"b"}
    former = reader.unread
    assert read(reader) == {"a": 1}
    assert reader.unread is former, "what is computed from it need not be computed again"
    table.later, table.versions = set(), {"a": 1, "b": 2}
    assert read(reader) == {"a": 1, "b": 2}
    assert reader.unread == frozenset()


def test_what_cannot_be_read_is_read_again_when_it_changes_or_on_request_and_logged_once(
    table: Table, caplog: pytest.LogCaptureFixture
) -> None:
    reader, table.later = reader_of(table), {"b"}
    for _ in range(3):
        read(reader)
    assert table.reads.count("b") == 1
    reader.retry_unreadable()
    for _ in range(3):
        read(reader)
    assert table.reads.count("b") == 2
    table.versions["b"] = 2
    read(reader)
    assert table.reads.count("b") == 3
    assert [each.__dict__["row"] for each in caplog.records] == [
        f"destination/d version {version} of tenant b" for version in (1, 2)
    ]


def test_a_table_that_does_not_answer_is_an_error_and_what_was_read_stays(table: Table) -> None:
    reader = reader_of(table)
    read(reader)
    table.versions, table.fails = {"a": 2, "b": 2}, True
    with pytest.raises(StoreError):
        reader.refresh()
    table.fails = False
    assert read(reader) == {"a": 2, "b": 2}
