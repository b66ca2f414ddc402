"""A tenant that keeps writing delays none of the others."""

from pipelines.control.provision.catalogue_reader import CatalogueReader
from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Destination
from shared.dynamodb.document_table import DocumentTable
from tests.contract.provision.conftest import TABLE
from tests.harness.document_changes import change_of

BUSY, QUIET = "busy", "quiet"


class BusyTable(DocumentTable):
    """A table in which a tenant writes right after its documents are read, while `left` lasts."""

    left = 0

    def documents(self, tenant: str) -> list[StoredDocument]:
        found = super().documents(tenant)
        if tenant == BUSY and self.left:
            self.left -= 1
            self.put(BUSY, 1.0 + self.left)
        return found

    def put(self, tenant: str, timeout: float) -> None:
        """Write another version of the tenant's only document."""
        document = Destination(name="d", tenant=tenant, timeout_seconds=timeout)
        self.write(tenant, [change_of(document)], by="ann", at_ms=1)


def timeouts(reader: CatalogueReader) -> dict[str, float]:
    found = (each.document for each in reader.documents)
    return {each.tenant: each.timeout_seconds for each in found if isinstance(each, Destination)}


def test_what_others_write_is_read_while_one_tenant_goes_on_writing(
    table: DocumentTable, endpoint: str
) -> None:
    busy = BusyTable(TABLE, endpoint)
    for tenant in (BUSY, QUIET):
        busy.put(tenant, 7.0)
    reader = CatalogueReader(busy)
    reader.refresh()
    assert timeouts(reader) == {BUSY: 7.0, QUIET: 7.0}

    busy.left = 5
    for tenant in (BUSY, QUIET):
        busy.put(tenant, 8.0)
    reader.refresh()
    assert busy.left == 4, "one look reads what changes under it once"
    assert timeouts(reader) == {BUSY: 7.0, QUIET: 8.0}

    busy.left = 0
    reader.refresh()
    assert timeouts(reader) == {BUSY: 5.0, QUIET: 8.0}


def test_a_catalogue_that_was_never_read_is_whole_before_anything_is_decided(
    table: DocumentTable, endpoint: str
) -> None:
    busy = BusyTable(TABLE, endpoint)
    for tenant in (BUSY, QUIET):
        busy.put(tenant, 7.0)
    busy.left = 3
    reader = CatalogueReader(busy)
    reader.refresh()
    assert timeouts(reader) == {BUSY: 1.0, QUIET: 7.0}
