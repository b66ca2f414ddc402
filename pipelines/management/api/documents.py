"""Reads and writes documents for the routes."""

import threading
from collections import defaultdict
from collections.abc import Callable, Container, Iterator, Mapping, Sequence
from contextlib import AbstractContextManager, contextmanager
from functools import partial
from http import HTTPStatus
from typing import Any, Final, TypeGuard, TypeVar
from weakref import WeakValueDictionary

import msgspec
from msgspec import Struct

from pipelines.management.api import intent
from pipelines.management.api.key_notes import KeyNotes
from pipelines.management.api.moved_keys import verify_parts
from pipelines.management.api.problems import ProblemError, not_found
from pipelines.management.api.write_keys import new_key
from shared.contracts.document_items import (
    Change,
    DocumentKey,
    DocumentVersion,
    StoredDocument,
    TooManyChangesError,
    VersionConflictError,
    WriteKeyTakenError,
    check_changed,
    check_planned,
    live_version,
)
from shared.contracts.document_status import DocumentStatus, current, document_and_side, status_partition
from shared.contracts.documents import Document, Source, key_digest, kind_of
from shared.contracts.egress_policy import EgressPolicy
from shared.contracts.limits import MAX_DOCUMENT_BYTES
from shared.contracts.tenant_limits import TenantFullError
from shared.contracts.write_parts import parts_of_versions
from shared.dynamodb.document_table import DocumentTable, Stored
from shared.dynamodb.item_store import ItemStore
from shared.runtime.clock import Clock

T = TypeVar("T")
_TRIES: Final = 5
"""The last without other writers of this process."""

SideStatuses = Mapping[str, DocumentStatus]
"""A document's status on each side."""


class Written(Struct, frozen=True, kw_only=True):
    """The effect of a write, or of a dry run."""

    versions: Sequence[StoredDocument]
    keys: Mapping[DocumentKey, str]
    """Write keys that were made for new sources."""


class Documents:
    """May be used from any thread."""

    def __init__(
        self,
        table: DocumentTable,
        notes: KeyNotes,
        statuses: ItemStore[DocumentStatus],
        reach: EgressPolicy,
        clock: Clock,
    ) -> None:
        self.table, self._notes, self._statuses = table, notes, statuses
        self._reach, self._clock = reach, clock
        self._locks: WeakValueDictionary[str, threading.RLock] = WeakValueDictionary()
        self._finding = threading.Lock()

    def live(self, tenant: str, key: DocumentKey) -> StoredDocument:
        """A document that is there; a ProblemError says that it is not."""
        found = self.table.get(tenant, key)
        if found is None or found.document is None:
            raise not_found()
        return found

    def at_version(self, tenant: str, key: DocumentKey, version: int) -> StoredDocument:
        """A version of a document, perhaps its deletion; a ProblemError says that there is none."""
        found = self.table.version_before(tenant, key, version + 1)
        if found is None or found.version != version:
            raise not_found()
        return found

    def statuses(self, tenant: str, found: Sequence[DocumentVersion]) -> list[SideStatuses]:
        """How far each side is with documents, in their order."""
        if not found:
            return []
        names = sorted(str(each.key) for each in found)
        last = max(f"{name}/" for name in names) + "\uffff"
        known: dict[str, dict[str, DocumentStatus]] = defaultdict(dict)
        for sort, status in self._statuses.between(status_partition(tenant), names[0], last):
            document, side = document_and_side(sort)
            known[document][side] = status
        seen, now_ms = self.table.sides(), self._clock()
        return [current(each, known.get(str(each.key), {}), seen, now_ms) for each in found]

    def versions_of(
        self, tenant: str, keys: Sequence[DocumentKey], *, dry_run: bool
    ) -> dict[DocumentKey, int]:
        """The live version of each document of a bundle, ABSENT for none; an oversized bundle costs no read.

        Raises:
            ProblemError: 413 for too many documents.
        """
        check = check_planned if dry_run else check_changed
        with _refused():
            check(len(keys))
        found = self.table.current(tenant, keys)
        return {key: live_version(found.get(key)) for key in keys}

    def put(  # noqa: PLR0913  # the parts of one request
        self,
        tenant: str,
        bodies: Sequence[object],
        gone: Sequence[Change],
        expected: Mapping[str, int],
        *,
        by: str,
        dry_run: bool,
    ) -> Written:
        """Write documents as they were sent, and delete others: all or nothing.

        Sources that state no write keys have those that are there when they are written.
        """
        unstated = {intent.named(raw) for raw in bodies if _leaves_keys(raw)}
        seen = {key for key in unstated if str(key) not in expected}

        def read_and_write() -> Written:
            keys: dict[DocumentKey, str] = {}
            changes = [*gone]
            kept = self.table.current(tenant, sorted(unstated))
            for raw in bodies:
                document = self._read(raw, kept, keys)
                _check_size(document)
                key = DocumentKey(kind_of(document), document.name)
                version = live_version(kept.get(key)) if key in seen else expected.get(str(key))
                changes.append(Change(key=key, document=document, expected=version))
            versions = self.write(tenant, changes, by=by, dry_run=dry_run, unstated=unstated)
            return Written(versions=versions, keys=keys)

        done = self._repeated(tenant, read_and_write, seen)
        added = {each.key for each in done.versions}
        made = {key: text for key, text in done.keys.items() if key in added and not dry_run}
        for key, text in made.items():
            self._notes.add(tenant, key.name, text, "first key", by=by)
        return Written(versions=done.versions, keys=made)

    def _read(
        self, raw: object, kept: Mapping[DocumentKey, StoredDocument], made: dict[DocumentKey, str]
    ) -> Document:
        """The document; a source that states no keys has those it had, unchecked, or one that is made."""
        if not _leaves_keys(raw):
            return intent.read(raw, self._reach)
        key, text = intent.named(raw), new_key()
        document = intent.read(raw | {"write_keys": [key_digest(text)]}, self._reach)
        found = kept.get(key)
        if found is not None and isinstance(found.document, Source):
            return msgspec.structs.replace(document, write_keys=found.document.write_keys)
        made[key] = text
        return document

    def write(
        self,
        tenant: str,
        changes: Sequence[Change],
        *,
        by: str,
        dry_run: bool,
        unstated: Container[DocumentKey] = frozenset(),
    ) -> list[StoredDocument]:
        """Write, or tell what would be written: in parts, if it is more than one write takes.

        Args:
            tenant: the owner of the documents.
            changes: of different documents.
            by: who writes.
            dry_run: whether nothing is written.
            unstated: the sources that state no write keys.

        Raises:
            ProblemError: 409, 412, 413 or 422.
        """
        intent.refuse_own(tenant)
        act = partial(self._plan, unstated) if dry_run else partial(self.table.write, verify=intent.verify)
        with _refused(), self._alone(tenant):
            return act(tenant, changes, by=by, at_ms=self._clock())

    def _plan(
        self, unstated: Container[DocumentKey], tenant: str, changes: Sequence[Change], *, by: str, at_ms: int
    ) -> list[StoredDocument]:
        def verify(before: Stored, after: Stored, versions: Sequence[StoredDocument]) -> None:
            intent.verify(before, after, versions)
            verify_parts(before, parts_of_versions(versions, unstated))

        parted = partial(parts_of_versions, unstated=unstated)
        return self.table.plan(tenant, changes, by=by, at_ms=at_ms, verify=verify, parted=parted)

    def _alone(self, tenant: str) -> AbstractContextManager[bool]:
        """Keeps the tenant's other writers of this process out: they would only come in each other's way."""
        with self._finding:
            lock = self._locks.get(tenant)
            if lock is None:
                self._locks[tenant] = lock = threading.RLock()
            return lock  # kept for as long as a writer has it or waits for it

    def revert(  # noqa: PLR0913  # what is wanted, and by whom
        self, tenant: str, key: DocumentKey, version: int, expected: int | None, *, by: str, dry_run: bool
    ) -> list[StoredDocument]:
        """Make a document what it was at a version; one that was its deletion deletes it.

        A source keeps the write keys that it has now: one that was removed since may have leaked.
        """
        wanted = self.at_version(tenant, key, version).document

        def change() -> Change:
            if not isinstance(wanted, Source):
                return Change(key=key, document=wanted, expected=expected)
            source, seen = self._with_present_keys(tenant, key, wanted)
            return Change(key=key, document=source, expected=seen if expected is None else expected)

        def read_and_write() -> list[StoredDocument]:
            return self.write(tenant, [change()], by=by, dry_run=dry_run)

        return self._repeated(tenant, read_and_write, {key} if expected is None else set())

    def _with_present_keys(self, tenant: str, key: DocumentKey, wanted: Source) -> tuple[Source, int]:
        """A source with the keys that it has, or had when it was deleted, and the version that has them."""
        now = self.table.get(tenant, key)
        if now is None:
            raise not_found()
        last = now if now.document is not None else self.table.version_before(tenant, key, now.version)
        assert last is not None and isinstance(last.document, Source)
        return msgspec.structs.replace(wanted, write_keys=last.document.write_keys), live_version(now)

    def change_source(self, tenant: str, name: str, change: Callable[[Source], Source], *, by: str) -> None:
        """Change a source, whatever comes in between."""
        key = DocumentKey("source", name)

        def read_and_write() -> list[StoredDocument]:
            found = self.live(tenant, key)
            assert isinstance(found.document, Source)
            wanted = Change(key=key, document=change(found.document), expected=live_version(found))
            return self.write(tenant, [wanted], by=by, dry_run=False)

        self._repeated(tenant, read_and_write, {key})

    def _repeated(self, tenant: str, read_and_write: Callable[[], T], seen: Container[DocumentKey]) -> T:
        """Read and write, again if another write of a document `seen` came in between.

        Args:
            tenant: the owner of the documents.
            read_and_write: writes what follows from what it reads.
            seen: documents for which it expects the version that it read itself, not the caller's.
        """
        for _ in range(_TRIES - 1):
            try:
                return read_and_write()
            except _OutdatedError as error:
                if error.key not in seen:
                    raise
        with self._alone(tenant):
            return read_and_write()


class _OutdatedError(ProblemError):
    """A document is not at the version that was expected."""

    def __init__(self, error: VersionConflictError) -> None:
        super().__init__(HTTPStatus.PRECONDITION_FAILED, str(error))
        self.key = error.key


def _leaves_keys(raw: object) -> TypeGuard[dict[str, Any]]:
    """Whether it is a source that states no write keys."""
    return isinstance(raw, dict) and raw.get("kind") == "source" and "write_keys" not in raw


@contextmanager
def _refused() -> Iterator[None]:
    """Turn the table's refusals into problem details."""
    try:
        yield
    except VersionConflictError as error:
        raise _OutdatedError(error) from None
    except (TenantFullError, WriteKeyTakenError) as error:
        raise ProblemError(HTTPStatus.CONFLICT, str(error)) from None
    except TooManyChangesError as error:
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, str(error)) from None
    except ValueError as error:
        raise ProblemError(HTTPStatus.UNPROCESSABLE_ENTITY, str(error)) from None


def _check_size(document: Document) -> None:
    size = len(msgspec.json.encode(document))
    if size > MAX_DOCUMENT_BYTES:
        said = f"{kind_of(document)}/{document.name} has {size:,} bytes; at most {MAX_DOCUMENT_BYTES:,}"
        raise ProblemError(HTTPStatus.REQUEST_ENTITY_TOO_LARGE, said)
