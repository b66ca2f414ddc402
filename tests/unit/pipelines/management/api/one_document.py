"""A table with one source's versions, and concurrent writers."""

from collections.abc import Iterable, Sequence
from typing import Any

from pipelines.management.api.documents import Documents
from shared.contracts.document_items import Change, DocumentKey, StoredDocument, next_versions
from shared.contracts.documents import Source
from shared.contracts.egress_policy import EgressPolicy

KEY = DocumentKey("source", "s")


class OneDocument:
    """A table."""

    def __init__(self, *documents: Source | None) -> None:
        self.versions: list[StoredDocument] = []
        self.between: list[Source | None] = []
        """Documents that another process writes just before the next writes, the last one first."""

        for document in documents:
            self._add([Change(key=KEY, document=document)])

    def get(self, _: str, key: DocumentKey) -> StoredDocument | None:
        assert key == KEY
        return self.versions[-1] if self.versions else None

    def current(self, _: str, keys: Iterable[DocumentKey]) -> dict[DocumentKey, StoredDocument]:
        return {key: self.versions[-1] for key in keys if self.versions and key == KEY}

    def version_before(self, _: str, key: DocumentKey, before: int) -> StoredDocument | None:
        assert key == KEY
        return next((each for each in reversed(self.versions) if each.version < before), None)

    def write(self, _: str, changes: Sequence[Change], **__: Any) -> list[StoredDocument]:
        if self.between:
            self._add([Change(key=KEY, document=self.between.pop())])
        return self._add(changes)

    def _add(self, changes: Sequence[Change]) -> list[StoredDocument]:
        current = {KEY: self.versions[-1]} if self.versions else {}
        added = next_versions("t", changes, current, by="ann", at_ms=0)
        self.versions += added
        return added


class Notes:
    """Labels of keys, which these tests do not read."""

    def add(self, *_: Any, **__: Any) -> None:
        """Store a label."""


def documents_in(table: OneDocument) -> Documents:
    """The routes' `Documents`, over a table."""
    given: Any = table
    notes: Any = Notes()
    nothing: Any = None
    return Documents(given, notes, nothing, EgressPolicy(), lambda: 0)


def source(*keys: str, rate: float | None = None) -> Source:
    """The source with these keys."""
    return Source(name=KEY.name, tenant="t", write_keys=list(keys), rate_limit=rate)
