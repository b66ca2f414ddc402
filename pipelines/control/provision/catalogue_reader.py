"""The customers' documents in memory, read again where a tenant's catalogue has moved on."""

from collections.abc import Iterable, Mapping, Sequence
from typing import NamedTuple

from shared.contracts.document_items import StoredDocument
from shared.dynamodb.document_rows import UnreadableDocumentError
from shared.dynamodb.document_table import DocumentTable
from shared.dynamodb.unreadable_rows import UnreadableRows


class _Unreadable(NamedTuple):
    at: int
    """The version of the tenant's catalogue."""

    row: str
    """The first document that could not be read, in words for people."""


class CatalogueReader:
    """Reads all tenants' documents. Not thread-safe.

    A newer version of hifi on another side may write a document that this one cannot read. That holds up its
    tenant alone: the documents that were read before stay, until the document is written again.
    """

    def __init__(self, table: DocumentTable) -> None:
        self._table = table
        self._versions: dict[str, int] = {}
        self._documents: dict[str, Sequence[StoredDocument]] = {}
        self._all: Sequence[StoredDocument] | None = ()
        self._read_again: set[str] = set()
        """A query may see a part of a transaction: what moved is read once more at the next refresh."""

        self._unreadable: dict[str, _Unreadable] = {}
        self._rows = UnreadableRows("documents", "the changes of a tenant wait for a row")
        self._unread = frozenset[str]()

    @property
    def version(self) -> int:
        """The version of the whole catalogue: how many versions all tenants have written."""
        return sum(self._versions.values())

    @property
    def documents(self) -> Sequence[StoredDocument]:
        """The documents of all tenants. A change replaces the object and never mutates it."""
        if self._all is None:
            self._all = tuple(each for documents in self._documents.values() for each in documents)
        return self._all

    @property
    def unread(self) -> frozenset[str]:
        """Tenants with nothing read yet. A change replaces the object."""
        return self._unread

    def refresh(self) -> None:
        """Read what changed. A tenant's documents are as they were at one version, never half of a bundle.

        Writes that come meanwhile are left to the next refresh, so that no tenant waits for another that goes
        on writing. Only a tenant that was never read is read until its documents stand still.

        Raises:
            StoreError: if the table cannot be read; what was read stays.
        """
        found = self._table.catalogues()
        wanted = {name: found.get(name, 0) for name in (*self._read_again, *self._moved(found))}
        while wanted:
            read = self._readable(wanted)
            found = self._table.catalogues()
            self._take(wanted, read, found)
            known = self._versions.keys() | self._unreadable.keys()
            wanted = {name: found[name] for name in self._moved(found) if name not in known}
        self._rows.report([each.row for each in self._unreadable.values()])
        unread = self._unreadable.keys() - self._documents.keys()
        if unread != self._unread:
            self._unread = frozenset(unread)

    def _moved(self, found: Mapping[str, int]) -> Sequence[str]:
        tried = self._versions | {name: each.at for name, each in self._unreadable.items()}
        return [name for name, at in found.items() if tried.get(name) != at]

    def _readable(self, wanted: Mapping[str, int]) -> Mapping[str, Sequence[StoredDocument]]:
        """The tenants of which every document can be read; others are not tried again at the same version."""
        read: dict[str, Sequence[StoredDocument]] = {}
        for tenant, at in wanted.items():
            try:
                read[tenant] = self._table.documents(tenant)
            except UnreadableDocumentError as error:
                self._unreadable[tenant] = _Unreadable(at, error.named)
                self._read_again.discard(tenant)
        return read

    def retry_unreadable(self) -> None:
        """Try unreadable documents again at the next refresh: a repair by hand moves no version."""
        self._read_again |= self._unreadable.keys()

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
            self._unreadable.pop(tenant, None)
            if self._versions.get(tenant, 0) == before[tenant]:
                self._read_again.discard(tenant)
            else:
                self._versions[tenant] = before[tenant]
                self._read_again.add(tenant)

    def _keep(self, tenant: str, documents: Sequence[StoredDocument]) -> None:
        if self._documents.get(tenant) != documents:
            self._documents[tenant], self._all = documents, None
