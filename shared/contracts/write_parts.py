"""The parts in which a set of documents is written that is larger than one write. Pure.

A new source is opened when everything of its tenant is in force. Written before its pipes it would take
events that match none of them, so it is in one part with them, if they fit into one.
"""

from collections.abc import Callable, Container, Iterable, Iterator, Sequence
from itertools import groupby
from typing import Final, TypeVar

from shared.contracts.document_items import MOST_ITEMS, DocumentKey, StoredDocument
from shared.contracts.documents import Document, Pipe, Source

T = TypeVar("T")
_DOCUMENT: Final = 2
"""Items of a write that a document takes; a source takes one more for each of its write keys."""

_CATALOGUE: Final = 1
_UNSTATED: Final = _DOCUMENT + 1
"""Items that a source is taken for whose writer does not state its write keys."""


def items_of(document: Document) -> int:
    """How many items of a write a document takes at most."""
    return _DOCUMENT + (len(document.write_keys) if isinstance(document, Source) else 0)


def in_order(wanted: Iterable[T], document_of: Callable[[T], Document]) -> list[T]:
    """A tenant's documents with what pipes name before them: all others, each source and its pipes, and the
    pipes of sources that are not among them.
    """
    found = list(wanted)
    documents = [document_of(each) for each in found]
    sources = [each.name for each in documents if isinstance(each, Source)]
    place = {name: at for at, name in enumerate(dict.fromkeys(sources))}

    def order(each: T) -> tuple[int, bool]:
        document = document_of(each)
        if isinstance(document, Source | Pipe):
            return place.get(_source(document), len(place)), isinstance(document, Pipe)
        return -1, False

    return sorted(found, key=order)


def parts(
    wanted: Iterable[T], document_of: Callable[[T], Document], count: Callable[[T], int]
) -> Iterator[Sequence[T]]:
    """A tenant's documents in parts that fit into one write each.

    Args:
        wanted: the documents.
        document_of: the document of one of them.
        count: how many items of a write it takes.
    """
    part: list[T] = []
    left = MOST_ITEMS - _CATALOGUE
    for unit in _units(in_order(wanted, document_of), document_of):
        together = sum(map(count, unit))
        for each in unit:
            if part and (left < count(each) or left < together):
                yield part
                part, left = [], MOST_ITEMS - _CATALOGUE
            together = 0  # it is begun: only one that fits into no part is cut
            part.append(each)
            left -= count(each)
    if part:
        yield part


def parts_of_deletions(unwanted: Iterable[T], document_of: Callable[[T], Document]) -> Iterator[Sequence[T]]:
    """The same of documents to delete, what pipes name after them: no source outlives its last pipe."""
    return reversed(list(parts(unwanted, document_of, lambda _: _DOCUMENT)))


def parts_of_versions(
    versions: Sequence[StoredDocument], unstated: Container[DocumentKey]
) -> list[Sequence[StoredDocument]]:
    """The parts in which a set is written that adds versions; a set with deletions is taken for one part.

    Args:
        versions: that all parts together add.
        unstated: the sources whose writer does not state their write keys.
    """
    if any(each.document is None for each in versions):
        return [versions]

    def count(each: StoredDocument) -> int:
        return _UNSTATED if each.key in unstated else items_of(_document(each))

    return list(parts(versions, _document, count))


def _document(each: StoredDocument) -> Document:
    assert each.document is not None
    return each.document


def _units(ordered: Sequence[T], document_of: Callable[[T], Document]) -> Iterator[Sequence[T]]:
    """Documents that belong into one part: a source with its pipes, or a single document."""
    for name, group in groupby(ordered, key=lambda each: _source(document_of(each))):
        found = list(group)
        if name and isinstance(document_of(found[0]), Source):
            yield found
        else:
            yield from ([each] for each in found)


def _source(document: Document) -> str:
    """The source that a source or a pipe belongs to; empty for other documents."""
    if isinstance(document, Source):
        return document.name
    return document.source if isinstance(document, Pipe) else ""
