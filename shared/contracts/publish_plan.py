"""The changes that publishing documents would make. Pure."""

from collections.abc import Iterable, Mapping
from enum import StrEnum
from typing import Final

from msgspec import Struct

from shared.contracts.completeness import COMPLETE_KEY, COMPLETE_VALUE
from shared.contracts.documents import (
    Catalogue,
    Document,
    Entry,
    encode_entry,
    kind_of,
    same,
    sealed,
    topic_key,
)

Records = Mapping[bytes, bytes | None]
"""Keys and values for the `config` topic; None is a tombstone."""

COMPLETE: Final[Records] = {COMPLETE_KEY: COMPLETE_VALUE}
"""Says that the topic holds everything."""


class Change(StrEnum):
    """The effect of publishing on a document."""

    CREATED = "created"
    CHANGED = "changed"
    UNCHANGED = "unchanged"


class PlannedDocument(Struct, frozen=True):
    """One document of a plan."""

    key: bytes
    entry: Entry
    change: Change


def step_of(document: Document, published: Catalogue) -> PlannedDocument:
    """The effect of publishing a document; it is sealed, and one that stays as it is keeps its version."""
    document = sealed(document)
    key = document_key(document)
    former = published.entries.get(key)
    if former is None:
        return PlannedDocument(key, Entry(version=1, document=document), Change.CREATED)
    if same(former.document, document):
        return PlannedDocument(key, former, Change.UNCHANGED)
    return PlannedDocument(key, Entry(version=former.version + 1, document=document), Change.CHANGED)


def records(steps: Iterable[PlannedDocument]) -> Records:
    """The records of these steps."""
    return {step.key: encode_entry(step.entry) for step in steps}


def records_of(documents: Iterable[Document]) -> Records:
    """Records that publish documents for the first time, without looking at what is there."""
    return records(step_of(document, Catalogue()) for document in documents)


def tombstones_of(documents: Iterable[Document]) -> Records:
    """Records that take documents away again."""
    return {document_key(document): None for document in documents}


def document_key(document: Document) -> bytes:
    """The key of a document's records on the `config` topic."""
    return topic_key(document.tenant, kind_of(document), document.name)
