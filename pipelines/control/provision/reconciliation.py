"""What the `config` topic lacks of what customers want, and which of it may be published now. Pure."""

from collections.abc import Callable, Collection, Iterable, Mapping
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
    topic_key,
)
from shared.contracts.publish_plan import Records

Entries = Mapping[bytes, Entry]
"""By key on the `config` topic."""

_LIVE_MS: Final = LIVE_SECONDS * 1_000


class Wanted(Struct, frozen=True):
    """What the topic should hold of the customers' documents."""

    entries: Entries
    refused: Collection[StoredDocument]
    """Left out: another tenant's document has the same kind and name on the topic."""


def wanted(stored: Iterable[StoredDocument], published: Entries) -> Wanted:
    """The entries that current documents stand for.

    The table reserves a name for one tenant, so that two of one name can only be older than that: the earlier
    is published. A name of hifi's own documents is nobody else's.
    """
    entries: dict[bytes, Entry] = {}
    refused: list[StoredDocument] = []
    for each in sorted(stored, key=lambda one: (one.at_ms, one.tenant)):
        if each.document is None or each.tenant in OWN_TENANTS:
            continue
        key = topic_key(each.key.kind, each.key.name)
        if key in entries or _own(published.get(key)):
            refused.append(each)
        else:
            entries[key] = Entry(version=each.version, document=each.document)
    return Wanted(entries, refused)


def _own(entry: Entry | None) -> bool:
    return entry is not None and entry.document.tenant in OWN_TENANTS


class Difference(Struct, frozen=True, kw_only=True):
    """What keeps the topic from being what is wanted."""

    changed: Entries
    """To be published at once."""

    opened: Entries
    """New sources: published when the pipes that they may feed are in force."""

    gone: Collection[bytes]
    """Keys to delete."""

    @property
    def empty(self) -> bool:
        """Whether the topic is as wanted."""
        return not (self.changed or self.opened or self.gone)


def difference(wanted_entries: Entries, published: Entries) -> Difference:
    """What to publish. hifi's own documents on the topic, and kinds of a newer version, stay as they are."""
    lacking = {key: entry for key, entry in wanted_entries.items() if published.get(key) != entry}
    opened = {
        key: entry
        for key, entry in lacking.items()
        if isinstance(entry.document, Source) and _opens(entry, published.get(key))
    }
    return Difference(
        changed={key: entry for key, entry in lacking.items() if key not in opened},
        opened=opened,
        gone=[key for key, entry in published.items() if _customers(entry) and key not in wanted_entries],
    )


def is_whole(wanted_entries: Entries, published: Entries) -> bool:
    """Whether the topic has everything that is wanted, at its version or a later one."""
    return all(
        key in published and published[key].version >= entry.version for key, entry in wanted_entries.items()
    )


def _opens(entry: Entry, published: Entry | None) -> bool:
    return published is None or published.document.tenant != entry.document.tenant


def _customers(entry: Entry) -> bool:
    return entry.document.tenant not in OWN_TENANTS and kind_of(entry.document) in KINDS


def due(
    found: Difference,
    in_force: Callable[[str], bool],
    published_ms: Mapping[str, int],
    began_ms: int,
    now_ms: int,
) -> Records:
    """The records to write now.

    A new source waits until everything of its tenant is in force: its first events would be acknowledged, and
    match no pipe. While nodes do not say what they use, that is taken for granted after LIVE_SECONDS.

    Args:
        found: what is different.
        in_force: whether route and transmit say that they use everything that is published of a tenant.
        published_ms: when something of a tenant was last published, epoch milliseconds.
        began_ms: since when that is known; a former leader may have published something just before.
        now_ms: now, epoch milliseconds.
    """
    busy = {entry.document.tenant for entry in found.changed.values()}
    ready = {
        key: entry
        for key, entry in found.opened.items()
        if entry.document.tenant not in busy
        and (
            in_force(entry.document.tenant)
            or now_ms - published_ms.get(entry.document.tenant, began_ms) >= _LIVE_MS
        )
    }
    records: dict[bytes, bytes | None] = dict.fromkeys(found.gone)
    return records | {key: encode_entry(entry) for key, entry in {**found.changed, **ready}.items()}


def adopted(published: Entries, now_ms: int) -> list[StoredDocument]:
    """What a side published before there was a table, as the table's first versions."""
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
