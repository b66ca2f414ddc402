"""The customers' documents in memory, read again where a tenant's catalogue has moved on."""

from collections.abc import Iterable, Mapping, Sequence

from shared.contracts.document_items import StoredDocument
from shared.dynamodb.document_table import DocumentTable


class CatalogueReader:
    """Belongs to one thread."""

    def __init__(self, table: DocumentTable) -> None:
        self._table = table
        self._versions: dict[str, int] = {}
        self._documents: dict[str, Sequence[StoredDocument]] = {}
        self._all: Sequence[StoredDocument] | None = ()
        self._read_again: set[str] = set()
        """A query may see a part of a transaction: what moved is read once more at the next refresh."""

    @property
    def version(self) -> int:
        """Of the whole catalogue: how many versions all tenants have written."""
        return sum(self._versions.values())

    @property
    def documents(self) -> Sequence[StoredDocument]:
        """Of all tenants. The object is replaced when one of them changes, never changed."""
        if self._all is None:
            self._all = tuple(each for documents in self._documents.values() for each in documents)
        return self._all

    def refresh(self) -> None:
        """Read what changed. A tenant's documents are as they were at one version, never half of a bundle.

        What a tenant writes meanwhile is left to the next time, so that others do not wait for one that goes
        on writing; only what was never read yet is read until it stands still.

        Raises:
            StoreError: if the table cannot be read; what was read stays.
        """
        found = self._table.catalogues()
        wanted = {name: found.get(name, 0) for name in (*self._read_again, *self._moved(found))}
        while wanted:
            read = {tenant: self._table.documents(tenant) for tenant in wanted}
            found = self._table.catalogues()
            self._take(wanted, read, found)
            wanted = {name: found[name] for name in self._moved(found) if name not in self._versions}

    def _moved(self, found: Mapping[str, int]) -> Sequence[str]:
        return [name for name, at in found.items() if self._versions.get(name) != at]

    def forget(self, deletions: Iterable[StoredDocument]) -> None:
        """Take deletions that are old out of the table's documents, and out of memory at the next refresh.

        Raises:
            StoreError: if the table cannot be written.
        """
        for each in deletions:
            self._table.remove(each)
            self._read_again.add(each.tenant)

    def _take(
        self,
        before: Mapping[str, int],
        read: Mapping[str, Sequence[StoredDocument]],
        after: Mapping[str, int],
    ) -> None:
        """Keep the tenants that did not change during the read."""
        for tenant, documents in read.items():
            if after.get(tenant, 0) != before[tenant]:
                continue
            self._keep(tenant, documents)
            if self._versions.get(tenant, 0) == before[tenant]:
                self._read_again.discard(tenant)
            else:
                self._versions[tenant] = before[tenant]
                self._read_again.add(tenant)

    def _keep(self, tenant: str, documents: Sequence[StoredDocument]) -> None:
        if self._documents.get(tenant) != documents:
            self._documents[tenant], self._all = documents, None
