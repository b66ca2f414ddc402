"""What a side's customers want: read from the table, written to it, and waited for until it is published.

Every program of scripts that changes documents goes through here. The provisioner alone publishes them.
"""

from collections.abc import Callable, Iterable, Sequence

from scripts.documents.publication import Entries, publication
from scripts.documents.snapshot import Snapshot, Write, deletions
from scripts.documents.store import DocumentStore
from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import LIVE_SECONDS, OWN_TENANTS, Document, Source, kind_of
from shared.contracts.publish_plan import Change, PlannedDocument


class SideDocuments:
    """Methods raise DocumentsError or KafkaUnavailableError if the table or the brokers do not answer."""

    def __init__(self, store: DocumentStore, bootstrap: str) -> None:
        self._store, self._bootstrap = store, bootstrap

    def opened(self) -> bool:
        """Whether documents can be written: the provisioner has taken the side over."""
        return self._store.opened()

    def snapshot(self) -> Snapshot:
        """All documents, as the table has them."""
        return Snapshot(self._store.current())

    def own(self) -> Entries:
        """hifi's own documents, which are on the topic only: the canary's and the warm-up's."""
        with publication(self._bootstrap) as topic:
            found = topic.entries()
        return {key: entry for key, entry in found.items() if entry.document.tenant in OWN_TENANTS}

    def history(self, tenant: str, key: DocumentKey) -> list[StoredDocument]:
        """Every version of a document, newest first."""
        return self._store.history(tenant, key)

    def apply(
        self, steps: Sequence[PlannedDocument], seen: Snapshot, say: Callable[[str], None] = lambda _: None
    ) -> None:
        """Carry out a plan that was made from `seen`, and return when all of it is published.

        Raises:
            DocumentsError: also if somebody changed one of the documents since, or it takes too long.
        """
        if any(isinstance(s.entry.document, Source) and s.change is Change.CREATED for s in steps):
            say(f"pipes take effect in {LIVE_SECONDS} s; new sources are opened after that")
        unchanged = [seen.of(step.entry.document) for step in steps if step.change is Change.UNCHANGED]
        self._write(seen.writes(steps), [each for each in unchanged if each is not None])

    def put(self, documents: Iterable[Document]) -> None:
        """Write documents whatever there is, and return when they are published."""
        seen = self.snapshot()
        self.apply([seen.step(each) for each in documents], seen)

    def delete(self, stored: Iterable[StoredDocument]) -> None:
        """Delete documents at the versions given, and return when they are gone from the topic."""
        self._write(deletions(stored), [])

    def remove(self, documents: Iterable[Document]) -> None:
        """Delete documents by tenant, kind and name, whatever version is there."""
        wanted = {(each.tenant, DocumentKey(kind_of(each), each.name)) for each in documents}
        self.delete(each for each in self.snapshot().stored if (each.tenant, each.key) in wanted)

    def _write(self, writes: Iterable[Write], beside: Sequence[StoredDocument]) -> None:
        with publication(self._bootstrap) as topic:  # is read while the table is written
            written = [each for tenant, changes in writes for each in self._store.write(tenant, changes)]
            topic.wait([*beside, *written])
