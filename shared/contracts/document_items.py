"""Documents as the table `documents` holds them: one current item each, every version kept. Pure.

| partition (`tenant`) | sort key (`document`) | item |
|---|---|---|
| the tenant | `kind/name` | the newest version; a deletion is a version too |
| `history#` and the tenant | `kind/name/` and the version, ten digits | each version |
| `deleted#` and the tenant | `kind/name` | a deletion that was the newest version for KEPT_MS: it counts on |
| `catalogues#` | the tenant | how many versions the tenant has written: its catalogue's version |
| `adoptions#` | a side | its topic was taken over, which may be older than the table; its last sign of life |
| `names#` | `write_key/` and a digest | the tenant that the key belongs to, for good |
| `keys#` and the tenant | source, `/` and the key's id | label of a write key |
| `key_use#` and the tenant | source, the key's id and a side | when it was last used: .key_usage |
| `tokens#` | digest of a token | tenant, role, label and expiry |
| `token_ids#` | the tenant, `/` and a token's id | the digest; an operator's has no tenant before the `/` |
| `migrations#` | what is migrated | until when an older version may write it its own way |
| `tenants#` | a tenant | who made it, and when: .member_items |
| `members#` | a tenant | its members with their roles |
| `memberships#` and a member | a tenant | the member belongs to it |
| `invitations#` | digest of an invitation | tenant, role, label and expiry |
| `invitation_ids#` | the tenant, `/` and an invitation's id | the digest |
| `audit#` and the tenant | time and a random part | a write, or a refused one |
| `status#` and the tenant | `kind/name/` and a side | how far the side is: .document_status |
| `rollouts#` | the tenant, `/` and a pipe | how far its rollout is: .rollouts |
| `rollout_cards#` | the tenant, a pipe and a side | what the side's meter says of the present step |
| `activities#` and a side | `serial`, `activity/` or `wish/` and an id | who acts: .diamond |
| `releases#` | `current`, or `ended/` and a number | how far a release of both sides is: .releases |
| `releases#` | `side/` and a side | what the deployer last saw of it |
| `leases#` | what is led | which process leads: shared.dynamodb.lease |
"""

from collections.abc import Iterable, Mapping, Sequence
from typing import Final

from msgspec import Raw, Struct

from shared.contracts.documents import Document, Source, same

DOCUMENTS_TABLE: Final = "hifi-documents"
"""The table's name on a local side, and where nothing else is said."""

CATALOGUES: Final = "catalogues#"
"""Partition of the catalogues' versions; no tenant has a `#` in its name."""

ADOPTIONS: Final = "adoptions#"
"""Partition of the sides that had their topics taken over."""

WRITE_KEYS: Final = "names#"
"""Partition of the write keys that are reserved for a tenant. Older versions reserved names there, too: their
items `kind/name` mean nothing any more."""

MOST_ITEMS: Final = 100
"""Items that one transaction takes."""

MOST_CHANGES: Final = 49
"""Documents in one write: two items each (current, history), and one for the catalogue."""

MOST_PLANNED: Final = 10_000
"""Documents in one dry run, which is checked as a whole and then written in parts."""

KEPT_MS: Final = 24 * 3_600_000
"""How long a deletion is among a tenant's documents at least. Then it makes room: names come and go."""

_WRITE_KEY: Final = "write_key/"

ABSENT: Final = 0
"""The expected version of a document that must not be there, or must have been deleted."""


class DocumentKey(Struct, frozen=True, order=True):
    """Names a document within its tenant."""

    kind: str
    name: str

    def __str__(self) -> str:
        return f"{self.kind}/{self.name}"


class Change(Struct, frozen=True, kw_only=True):
    """A change that a writer wants to make to one document."""

    key: DocumentKey
    document: Document | None
    """Sealed; None deletes."""

    expected: int | None = None
    """The version that the writer saw; None is whatever there is, ABSENT a document that is not there."""


class DocumentVersion(Struct, frozen=True, kw_only=True):
    """Which version of which document, by whom and when."""

    tenant: str
    key: DocumentKey
    version: int
    """1 for the first; one more at each change, deletions included."""

    by: str
    """The writer."""

    at_ms: int
    """When, epoch milliseconds."""


class StoredDocument(DocumentVersion, frozen=True, kw_only=True):
    """One version of a document."""

    document: Document | None
    """None: this version is the deletion."""


class EncodedVersion(DocumentVersion, frozen=True, kw_only=True):
    """One version with its document as JSON: objects of many documents take ten times as much memory."""

    document: Raw | None
    """None: this version is the deletion."""


class VersionSummary(DocumentVersion, frozen=True, kw_only=True):
    """One version without its document, which may be large."""

    deleted: bool
    """This version is the deletion."""


class VersionConflictError(Exception):
    """A document is not at the version that its writer expected."""

    def __init__(self, key: DocumentKey, expected: int, found: int) -> None:
        there = f"is at version {found}" if found else "is not there"
        super().__init__(f"{key} {there}, expected {expected or 'no such document'}: read it again")
        self.key, self.expected, self.found = key, expected, found


class WriteKeyTakenError(Exception):
    """A write key of a source belongs to another tenant; the text says neither which key nor which tenant."""

    def __init__(self, key: DocumentKey) -> None:
        super().__init__(f"{key}: one of its write keys is not available; choose another one")


class TooManyChangesError(ValueError):
    """A write that does not fit into one transaction."""


def check_changed(documents: int) -> None:
    """Refuse more documents than a write takes, before anything is read for it.

    Raises:
        TooManyChangesError: if there are too many.
    """
    _check_at_most(MOST_CHANGES, documents, "a write changes")


def check_planned(documents: int) -> None:
    """Refuse more documents than a dry run takes; raises as `check_changed` does."""
    _check_at_most(MOST_PLANNED, documents, "a dry run checks")


def _check_at_most(most: int, documents: int, act: str) -> None:
    if documents > most:
        raise TooManyChangesError(f"{act} at most {most:,} documents, not {documents:,}; send them in parts")


def reserved_keys(
    versions: Iterable[StoredDocument], there: Mapping[DocumentKey, StoredDocument]
) -> dict[str, DocumentKey]:
    """Sort keys of the write keys that versions reserve for their tenant, each once, with its source.

    Those that a source has in `there`, the documents whose places the versions take, are reserved already.
    """
    return {
        _WRITE_KEY + key: each.key
        for each in versions
        for key in _write_keys(each)
        if each.key not in there or key not in _write_keys(there[each.key])
    }


def _write_keys(stored: StoredDocument) -> Sequence[str]:
    return stored.document.write_keys if isinstance(stored.document, Source) else ()


def documents_after(
    current: Iterable[StoredDocument], versions: Iterable[StoredDocument]
) -> dict[DocumentKey, StoredDocument]:
    """The documents that there are after a write; deleted ones are left out."""
    after = {each.key: each for each in current} | {each.key: each for each in versions}
    return {key: each for key, each in after.items() if each.document is not None}


def history_partition(tenant: str) -> str:
    """Partition of a tenant's versions."""
    return f"history#{tenant}"


def deleted_partition(tenant: str) -> str:
    """Partition of a tenant's deletions that are not among its documents any more."""
    return f"deleted#{tenant}"


def history_key(key: DocumentKey, version: int) -> str:
    """Sort key of one version; text order is the versions' order."""
    return f"{key}/{version:010d}"


def live_version(stored: StoredDocument | None) -> int:
    """The version that `If-Match` names; ABSENT for none and for a deleted one."""
    return stored.version if stored is not None and stored.document is not None else ABSENT


def next_versions(
    tenant: str,
    changes: Sequence[Change],
    current: Mapping[DocumentKey, StoredDocument],
    *,
    by: str,
    at_ms: int,
) -> list[StoredDocument]:
    """The versions that a write adds; a change that changes nothing adds none.

    Raises:
        VersionConflictError: if a document is at another version than its writer expected.
    """
    written = []
    for change in changes:
        former = current.get(change.key)
        found = live_version(former)
        if change.expected is not None and change.expected != found:
            raise VersionConflictError(change.key, change.expected, found)
        if not same(former.document if former else None, change.document):
            version = former.version + 1 if former else 1
            written.append(
                StoredDocument(
                    tenant=tenant,
                    key=change.key,
                    version=version,
                    document=change.document,
                    by=by,
                    at_ms=at_ms,
                )
            )
    return written
