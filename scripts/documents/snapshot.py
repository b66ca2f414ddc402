"""The table's documents at one moment, and what a plan writes to it. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import groupby
from typing import Final

import msgspec

from shared.contracts.document_items import (
    MOST_CHANGES,
    Change,
    DocumentKey,
    StoredDocument,
    change_of,
    live_version,
)
from shared.contracts.documents import Catalogue, Document, Entry, Pipe, Source, kind_of, topic_key
from shared.contracts.publish_plan import Change as ChangeKind
from shared.contracts.publish_plan import PlannedDocument, step_of

Write = tuple[str, Sequence[Change]]
"""A tenant, and changes that are made together."""

_FIRST: Final = 0
_PIPES: Final = 1
_OPENED: Final = 2


class Snapshot:
    """Immutable."""

    def __init__(self, stored: Iterable[StoredDocument]) -> None:
        self.stored = sorted(stored, key=lambda each: (each.at_ms, each.tenant))
        self._by_name: Mapping[tuple[str, DocumentKey], StoredDocument] = {
            (each.tenant, each.key): each for each in self.stored
        }
        self.catalogue = _catalogue(self.stored)

    def find(self, kind: str, name: str) -> list[StoredDocument]:
        """The newest version of a document, perhaps its deletion; one of each tenant that uses the name."""
        key = DocumentKey(kind, name)
        return [each for each in self.stored if each.key == key]

    def of(self, document: Document) -> StoredDocument | None:
        """What is stored under a document's tenant, kind and name."""
        return self._by_name.get((document.tenant, DocumentKey(kind_of(document), document.name)))

    def step(self, document: Document) -> PlannedDocument:
        """What writing a document would do."""
        return self.numbered(step_of(document, self.catalogue))

    def numbered(self, step: PlannedDocument) -> PlannedDocument:
        """A step with the version that the table gives: one that was deleted goes on from its deletion."""
        former = self.of(step.entry.document)
        if former is None or step.change is not ChangeKind.CREATED:
            return step
        entry = Entry(version=former.version + 1, document=step.entry.document)
        return msgspec.structs.replace(step, entry=entry)

    def writes(self, steps: Iterable[PlannedDocument]) -> Iterator[Write]:
        """What a plan writes, tenant by tenant, each write as large as one may be.

        A tenant with more is written in an order in which no part harms: pipes after their destinations, new
        sources after their pipes.
        """
        changed = [step for step in steps if step.change is not ChangeKind.UNCHANGED]
        ordered = sorted(changed, key=lambda step: (step.entry.document.tenant, _turn(step)))
        for tenant, group in groupby(ordered, key=lambda step: step.entry.document.tenant):
            yield from _parts(tenant, [self._change(step) for step in group])

    def _change(self, step: PlannedDocument) -> Change:
        return change_of(step.entry.document, expected=live_version(self.of(step.entry.document)))


def deletions(stored: Iterable[StoredDocument]) -> Iterator[Write]:
    """Writes that delete documents at the versions given: pipes first, which name the others."""
    live = [each for each in stored if each.document is not None]
    ordered = sorted(live, key=lambda each: (each.tenant, not isinstance(each.document, Pipe)))
    for tenant, group in groupby(ordered, key=lambda each: each.tenant):
        yield from _parts(
            tenant, [Change(key=each.key, document=None, expected=each.version) for each in group]
        )


def _parts(tenant: str, changes: Sequence[Change]) -> Iterator[Write]:
    return ((tenant, changes[at : at + MOST_CHANGES]) for at in range(0, len(changes), MOST_CHANGES))


def _catalogue(stored: Iterable[StoredDocument]) -> Catalogue:
    """The documents that are not deleted; of two tenants' with one name, the earlier is published."""
    entries: dict[bytes, Entry] = {}
    for each in stored:
        if each.document is not None:
            entry = Entry(version=each.version, document=each.document)
            entries.setdefault(topic_key(each.key.kind, each.key.name), entry)
    return Catalogue(entries)


def _turn(step: PlannedDocument) -> int:
    document = step.entry.document
    if isinstance(document, Pipe):
        return _PIPES
    return _OPENED if isinstance(document, Source) and step.change is ChangeKind.CREATED else _FIRST
