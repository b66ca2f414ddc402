"""Going back to an earlier version of a source brings no write key back."""

from collections.abc import Sequence
from typing import Any

import pytest

from pipelines.management.api.documents import Documents
from pipelines.management.api.problems import ProblemError
from shared.contracts.document_items import (
    Change,
    DocumentKey,
    StoredDocument,
    change_of,
    next_versions,
)
from shared.contracts.documents import Source
from shared.contracts.egress_policy import EgressPolicy

KEY = DocumentKey("source", "s")
LEAKED, PRESENT, LATER = ("sha256:1", "sha256:2", "sha256:3")


class OneDocument:
    """A table with the versions of one source."""

    def __init__(self, *documents: Source | None) -> None:
        self.versions: list[StoredDocument] = []
        self.rotates: list[Source] = []
        """What somebody else writes just before the next writes."""

        for document in documents:
            self._add([Change(key=KEY, document=document)])

    def get(self, _: str, key: DocumentKey) -> StoredDocument | None:
        assert key == KEY
        return self.versions[-1] if self.versions else None

    def history_page(
        self, _: str, key: DocumentKey, before: int, limit: int
    ) -> tuple[list[StoredDocument], None]:
        assert key == KEY
        return [each for each in reversed(self.versions) if each.version < before][:limit], None

    def write(self, _: str, changes: Sequence[Change], **__: Any) -> list[StoredDocument]:
        if self.rotates:
            self._add([change_of(self.rotates.pop())])
        return self._add(changes)

    def _add(self, changes: Sequence[Change]) -> list[StoredDocument]:
        current = {KEY: self.versions[-1]} if self.versions else {}
        added = next_versions("t", changes, current, by="ann", at_ms=0)
        self.versions += added
        return added


def source(*keys: str, rate: float) -> Source:
    return Source(name="s", tenant="t", write_keys=list(keys), rate_limit=rate)


def revert(table: OneDocument, version: int, expected: int | None = None) -> Any:
    given: Any = table
    nothing: Any = None
    documents = Documents(given, nothing, nothing, nothing, EgressPolicy(), lambda: 0)
    (added,) = documents.revert("t", KEY, version, expected, by="ann", dry_run=False)
    return added.document


def test_a_removed_key_does_not_come_back() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2))
    assert revert(table, 1) == source(PRESENT, rate=1)


def test_a_deleted_source_comes_back_with_the_keys_that_it_had_at_last() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2), None)
    assert revert(table, 1) == source(PRESENT, rate=1)


def test_keys_that_are_rotated_at_the_same_moment_are_kept() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(LEAKED, PRESENT, rate=2))
    table.rotates = [source(PRESENT, LATER, rate=2), source(PRESENT, rate=2)]
    assert revert(table, 1) == source(PRESENT, LATER, rate=1)


def test_a_writer_that_saw_another_version_is_refused() -> None:
    table = OneDocument(source(LEAKED, rate=1), source(PRESENT, rate=2))
    with pytest.raises(ProblemError) as refused:
        revert(table, 1, expected=1)
    assert refused.value.status == 412
