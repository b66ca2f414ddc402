"""Requests that write documents: by tenant, in parts that the API takes. Pure."""

from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from itertools import groupby
from typing import Any

import msgspec
from msgspec import Struct

from shared.contracts import write_parts
from shared.contracts.document_items import DocumentKey
from shared.contracts.documents import Document, kind_of, sealed


class Action(StrEnum):
    """The effect of a write on a document."""

    CREATE = "create"
    CHANGE = "change"
    DELETE = "delete"
    NONE = "none"


class Step(Struct, frozen=True, kw_only=True, rename={"before": "from", "after": "to"}):
    """The effect of a write, or of a dry run, on one document, as the API reports it."""

    kind: str
    name: str
    action: Action
    before: int | None
    """The version that is there; None for none."""

    after: int | None
    write_key: str | None = None
    """The key of a new source that stated none: shown once."""

    @property
    def key(self) -> DocumentKey:
        """The kind and name of the document."""
        return DocumentKey(self.kind, self.name)


class Wanted(Struct, frozen=True, kw_only=True):
    """A document as the API is to have it."""

    document: Document
    states_keys: bool = True
    """False for a source that leaves its write keys as they are."""

    @property
    def key(self) -> DocumentKey:
        """The kind and name of the document, which identify it within its tenant."""
        return DocumentKey(kind_of(self.document), self.document.name)

    @property
    def items(self) -> int:
        """How many items its write takes at most."""
        return write_parts.items_of(self.document)

    def body(self) -> dict[str, Any]:
        """Its JSON; a write key leaves this process as its digest only."""
        fields: dict[str, Any] = msgspec.to_builtins(sealed(self.document))
        return fields if self.states_keys else {k: v for k, v in fields.items() if k != "write_keys"}


def by_tenant(wanted: Iterable[Wanted]) -> Iterator[tuple[str, Sequence[Wanted]]]:
    """Each tenant's documents, in the order of `parts`."""
    ordered = sorted(wanted, key=lambda each: each.document.tenant)
    for tenant, group in groupby(ordered, key=lambda each: each.document.tenant):
        yield tenant, write_parts.in_order(group, _document)


def parts(wanted: Iterable[Wanted]) -> Iterator[Sequence[Wanted]]:
    """Documents of a tenant in groups that fit into one write each: a source with its pipes, if they fit."""
    return write_parts.parts(wanted, _document, lambda each: each.items)


def _document(each: Wanted) -> Document:
    return each.document


def put_body(wanted: Sequence[Wanted], seen: Mapping[DocumentKey, Step]) -> dict[str, Any]:
    """The body of `apply` that writes documents, of those in `seen` at the versions that were seen only."""
    expected = {str(each.key): seen[each.key].before or 0 for each in wanted if each.key in seen}
    return {"documents": [each.body() for each in wanted], "expected": expected}


def delete_bodies(found: Iterable[tuple[Document, int | None]]) -> Iterator[dict[str, Any]]:
    """Bodies of `apply` that delete documents of a tenant at the versions given, or at any."""
    for part in write_parts.parts_of_deletions(found, lambda each: each[0]):
        keys = [(DocumentKey(kind_of(document), document.name), version) for document, version in part]
        expected = {str(key): version for key, version in keys if version is not None}
        yield {"delete": [msgspec.to_builtins(key) for key, _ in keys], "expected": expected}
