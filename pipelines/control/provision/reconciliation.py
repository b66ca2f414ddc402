"""The differences of the `config` topic from what customers want, and which may be published now. Pure."""

from collections.abc import Callable, Collection, Container, Iterable, Mapping
from enum import Enum, auto
from typing import Final

from msgspec import Struct

from shared.contracts.document_items import DocumentKey, StoredDocument
from shared.contracts.documents import (
    KINDS,
    LIVE_SECONDS,
    OWN_TENANTS,
    Entry,
    Source,
    encode_entry,
    kind_of,
    same,
    topic_key,
)
from shared.contracts.heartbeats import Usage, lacking
from shared.contracts.publish_plan import Records, document_key

Entries = Mapping[bytes, Entry]
"""Entries by their key on the `config` topic."""

LIVE_MS: Final = LIVE_SECONDS * 1_000
"""How long after a tenant's last publication its new sources wait for nodes that are silent."""


def wanted(stored: Iterable[StoredDocument], published: Entries, unread: Container[str] = ()) -> Entries:
    """The entries that the topic should hold: customers' current documents, and hifi's own as published.

    Before names were each tenant's own, keys had no tenant: hifi's own documents that are still under such a
    key move to their present one.

    Args:
        stored: the documents.
        published: what the topic holds.
        unread: tenants that cannot be read; their published entries stay, as hifi's own do.
    """

    def stays(each: Entry) -> bool:
        return each.document.tenant in unread or not _customers(each)

    own = {document_key(each.document): each for each in published.values() if stays(each)}
    in_place = {key: each for key, each in published.items() if stays(each) and key in own}
    return {
        topic_key(each.tenant, each.key.kind, each.key.name): Entry(
            version=each.version, document=each.document
        )
        for each in stored
        if each.document is not None and each.tenant not in OWN_TENANTS
    } | {**own, **in_place}


class Difference(Struct, frozen=True, kw_only=True):
    """The changes that bring the topic to what is wanted."""

    changed: Entries
    """Entries to publish at once."""

    opened: Entries
    """New sources: published when the pipes that they may feed are in force."""

    gone: Collection[bytes]
    """Keys to delete."""

    @property
    def empty(self) -> bool:
        """Whether the topic is as wanted."""
        return not (self.changed or self.opened or self.gone)


def difference(wanted_entries: Entries, published: Entries) -> Difference:
    """The changes to publish. A source that only moves to another key is open already, and stays so."""
    lacking = {key: entry for key, entry in wanted_entries.items() if not same(published.get(key), entry)}
    sources = (each.document for each in published.values() if isinstance(each.document, Source))
    open_sources = {document_key(source) for source in sources}
    opened = {
        key: entry
        for key, entry in lacking.items()
        if isinstance(entry.document, Source) and key not in open_sources
    }
    return Difference(
        changed={key: entry for key, entry in lacking.items() if key not in opened},
        opened=opened,
        gone=[key for key in published if key not in wanted_entries],
    )


def compared(stored: Iterable[StoredDocument], published: Entries, unread: Container[str] = ()) -> Difference:
    """The changes that bring the topic to the customers' current documents; arguments as of `wanted`."""
    return difference(wanted(stored, published, unread), published)


def is_whole(wanted_entries: Entries, published: Entries) -> bool:
    """Whether the topic has everything that is wanted, at its version or a later one."""
    return all(
        key in published and published[key].version >= entry.version for key, entry in wanted_entries.items()
    )


def is_lost(version: int, published: Entries) -> bool:
    """Whether the table was never written to although the topic has customers' documents: it must not empty
    the topic. `version` is the catalogue's.
    """
    return not version and any(map(_customers, published.values()))


def completes(found: Difference, records: Records) -> bool:
    """Whether the topic holds everything that is wanted once `records`, those that are due, are on it."""
    return found.opened.keys() <= records.keys()


def _customers(entry: Entry) -> bool:
    return entry.document.tenant not in OWN_TENANTS and kind_of(entry.document) in KINDS


class Force(Enum):
    """Whether route and transmit use everything that is published of a tenant."""

    IN_FORCE = auto()
    """They say so."""

    BEHIND = auto()
    """One of them says that it uses what was before."""

    UNKNOWN = auto()
    """One of them says nothing, and none that it is behind."""


def force(newest: int, used: Usage) -> Force:
    """The same of a tenant whose newest record is at an offset."""
    nodes = lacking("pipe", newest, used)
    if not nodes:
        return Force.IN_FORCE
    return Force.BEHIND if any(node in used for node in nodes) else Force.UNKNOWN


def due(
    found: Difference,
    force_of: Callable[[str], Force],
    published_ms: Mapping[str, int],
    began_ms: int,
    now_ms: int,
) -> Records:
    """The records to write now. Deletions are last: a reader may take them in one by one, and a document that
    moves to another key must not be missing in between.

    A new source waits until everything of its tenant is in force: its first events would be acknowledged, and
    match no pipe. If a node says nothing, that is taken for granted after LIVE_SECONDS; of one that says that
    it is behind it never is.

    Args:
        found: what is different.
        force_of: of a tenant.
        published_ms: when something of a tenant was last published, epoch milliseconds.
        began_ms: since when that is known; a former leader may have published something just before.
        now_ms: now, epoch milliseconds.
    """

    def may_open(tenant: str) -> bool:
        state = force_of(tenant)
        waited_ms = now_ms - published_ms.get(tenant, began_ms)
        return state is Force.IN_FORCE or (state is Force.UNKNOWN and waited_ms >= LIVE_MS)

    busy = {entry.document.tenant for entry in found.changed.values()}
    ready = {
        key: entry
        for key, entry in found.opened.items()
        if entry.document.tenant not in busy and may_open(entry.document.tenant)
    }
    records = {key: encode_entry(entry) for key, entry in {**found.changed, **ready}.items()}
    return records | dict.fromkeys(found.gone)


def adopted(published: Entries, now_ms: int) -> list[StoredDocument]:
    """Customers' documents that a side published before there was a table, as the table's first versions."""
    return [
        StoredDocument(
            tenant=entry.document.tenant,
            key=DocumentKey(kind_of(entry.document), entry.document.name),
            version=entry.version,
            document=entry.document,
            by="import",
            at_ms=now_ms,
        )
        for entry in published.values()
        if _customers(entry)
    ]
