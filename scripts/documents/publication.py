"""Finds out which versions the sides have published. Pure."""

from collections.abc import Iterable, Mapping
from typing import Final

from msgspec import Struct

from shared.contracts.document_items import DocumentKey
from shared.contracts.document_status import DocumentStatus, State

_PUBLISHED: Final = (State.PUBLISHED, State.IN_FORCE)


class Status(Struct, frozen=True, kw_only=True):
    """How far every side is with a document."""

    kind: str
    name: str
    status: Mapping[str, DocumentStatus] = {}

    @property
    def key(self) -> DocumentKey:
        """The kind and name of the document."""
        return DocumentKey(self.kind, self.name)


def in_words(sides: Mapping[str, DocumentStatus]) -> str:
    """A document's status on all sides, in a few words."""
    words = {
        side: f"{status.state}: {status.reason}" if status.reason else str(status.state)
        for side, status in sides.items()
    }
    if len(set(words.values())) == 1:
        return next(iter(words.values()))
    return ", ".join(f"{side} {word}" for side, word in sorted(words.items()))


def unpublished(
    written: Mapping[DocumentKey, int], found: Iterable[Status]
) -> dict[DocumentKey, Mapping[str, DocumentStatus]]:
    """Documents that a side has not published at the version written or a later one, with their status.

    A document of which no side has said anything is not published.
    """
    known = {each.key: each.status for each in found}
    return {
        key: known.get(key, {})
        for key, version in written.items()
        if not known.get(key) or any(not _has(side, version) for side in known[key].values())
    }


def _has(side: DocumentStatus, version: int) -> bool:
    return side.version >= version and side.state in _PUBLISHED
