"""Write keys that the server makes; a source's document holds their digests."""

import secrets
from collections.abc import Mapping, Sequence
from typing import Final

from msgspec import Struct
from msgspec.structs import asdict, replace

from shared.contracts.document_items import StoredDocument
from shared.contracts.documents import Source, key_digest, key_id

_BYTES: Final = 32


class KeyNote(Struct, frozen=True, kw_only=True):
    """What the table holds of a write key beside the document."""

    label: str
    last_four: str
    made_ms: int
    made_by: str


class WriteKey(Struct, frozen=True, kw_only=True):
    """A key as it is listed; of one that a document brought, only the id is known."""

    id: str
    label: str = ""
    last_four: str = ""
    made_ms: int | None = None
    made_by: str = ""
    used_ms: int | None = None
    """When a request last came with it, epoch milliseconds; up to ten minutes too early."""


def partition(tenant: str) -> str:
    """Where a tenant's notes are."""
    return f"keys#{tenant}"


def sort_key(source: str, key_id: str) -> str:
    """Where one key's note is."""
    return f"{source}/{key_id}"


def new_key() -> str:
    """A key of 256 random bits."""
    return "wk_" + secrets.token_urlsafe(_BYTES)


def with_key(source: Source, key: str) -> Source:
    """The source with one more key."""
    return replace(source, write_keys=[*source.write_keys, key_digest(key)])


def without_key(source: Source, wanted: str) -> Source:
    """The source without a key; the same if it has none of that id."""
    left: Sequence[str] = [each for each in source.write_keys if key_id(each) != wanted]
    return source if len(left) == len(source.write_keys) else replace(source, write_keys=list(left))


def listed(stored: StoredDocument, notes: Mapping[str, KeyNote], used: Mapping[str, int]) -> list[WriteKey]:
    """The keys of a source, with what is noted of them, and when they were used, by sort key."""
    assert isinstance(stored.document, Source)
    found = []
    for digest in stored.document.write_keys:
        sort = sort_key(stored.key.name, key_id(digest))
        known = {} if sort not in notes else asdict(notes[sort])
        found.append(WriteKey(id=key_id(digest), used_ms=used.get(sort), **known))
    return found
