"""Writes of the table `documents`, each all or nothing. See shared.contracts.document_items."""

import random
import time
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from functools import partial
from typing import Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError
from msgspec import Struct

from shared.contracts.document_items import (
    ADOPTIONS,
    CATALOGUES,
    MOST_ITEMS,
    WRITE_KEYS,
    Change,
    DocumentKey,
    StoredDocument,
    TooManyChangesError,
    WriteKeyTakenError,
    check_changed,
    check_planned,
    documents_after,
    next_versions,
    reserved_keys,
)
from shared.contracts.documents import Document
from shared.contracts.tenant_limits import TenantLimits
from shared.dynamodb.client import CONDITION_FAILED, StoreError, cancellations, conflicts, create_table
from shared.dynamodb.document_reader import DocumentReader
from shared.dynamodb.document_rows import (
    DOCUMENT,
    OWNER,
    SEEN,
    TENANT,
    VERSION,
    added_rows,
    counted_row,
    removed_rows,
    reserved_row,
    row_key,
)
from shared.runtime.logging import get_logger

T = TypeVar("T")
_log = get_logger(__name__)
_TRIES: Final = 12
_PAUSE_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.5


Stored = Mapping[DocumentKey, StoredDocument]
Verify = Callable[[Stored, Stored, Sequence[StoredDocument]], None]
"""Refuses a write by raising; gets the tenant's documents before it (deletions included) and after it, and
the versions that it adds."""

Parted = Callable[[Sequence[StoredDocument]], Sequence[Sequence[StoredDocument]]]
"""The parts in which a set is written that adds versions."""


class DocumentTable(DocumentReader):
    """Every method may be called from any thread, and raises StoreError if the table cannot be used."""

    def __init__(
        self,
        table: str,
        endpoint: str | None = None,
        *,
        limits: TenantLimits | None = None,
        pause: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """Write to a table.

        Args:
            table: its name.
            endpoint: the URL of DynamoDB Local; None is AWS.
            limits: of writes with `verify`; None is without.
            pause: sleeps between retries.
            uniform: chooses how long.
        """
        super().__init__(table, endpoint)
        self._makes_table = endpoint is not None
        self._limits, self._pause, self._uniform = limits, pause, uniform

    def ensure(self) -> None:
        """Make the table if the endpoint is local; on AWS it is the stacks' to make."""
        if self._makes_table:
            try:
                create_table(self._client, self._table, TENANT, DOCUMENT)
            except (BotoCoreError, ClientError) as error:
                raise StoreError(f"table {self._table} cannot be made: {error}") from error

    def write(
        self,
        tenant: str,
        changes: Sequence[Change],
        *,
        by: str,
        at_ms: int,
        verify: Verify | None = None,
    ) -> list[StoredDocument]:
        """Make all of the changes, or none; gives the versions that were added.

        Args:
            tenant: the owner of the documents.
            changes: of different documents; at most MOST_CHANGES.
            by: who writes.
            at_ms: now, epoch milliseconds.
            verify: gets the tenant's documents as they are and as they would be, and what is added; raises to
                refuse the write. No other write of the tenant comes in between.

        Raises:
            VersionConflictError: if a document is at another version than its writer expected.
            WriteKeyTakenError: if a write key is another tenant's.
            TenantFullError: if the tenant would have more than its limits.
            TooManyChangesError: if the changes do not fit into one transaction.
            ValueError: if two changes are of one document.
        """
        check_changed(len(changes))
        _check_distinct(changes)

        def attempt() -> list[StoredDocument] | None:
            found = self._next(tenant, changes, by, at_ms, verify)
            added = found.versions
            written = not added or self._transact(tenant, added, found.documents, at=found.at)
            return added if written else None

        return self._until_alone(attempt)

    def plan(  # noqa: PLR0913  # a write, and how it is parted
        self,
        tenant: str,
        changes: Sequence[Change],
        *,
        by: str,
        at_ms: int,
        verify: Verify | None = None,
        parted: Parted | None = None,
    ) -> list[StoredDocument]:
        """The versions that `write` would add now; it raises the same, and writes nothing.

        It takes up to MOST_PLANNED changes, more than one write does, so that a large set can be checked
        before it is written in parts. `parted` makes the parts: each must fit into a write, and they must be
        within the limits one after another. Without it each change must fit into a write.
        """
        check_planned(len(changes))
        _check_distinct(changes)
        found = self._next(tenant, changes, by, at_ms, verify)
        versions = found.versions
        parts: Sequence[Sequence[StoredDocument]]
        parts = [[each] for each in versions] if parted is None else parted(versions)
        for part in parts:
            _check_items(part, len(reserved_keys(part, found.documents)))
        if parted is not None and len(parts) > 1 and self._limits is not None:
            replaced = [(_live(found.replaced(part)), _live(part)) for part in parts]
            self._limits.check_parts(_live(found.documents.values()), replaced)
        reserved = reserved_keys(versions, found.documents)
        for row in self._rows([row_key(WRITE_KEYS, key) for key in reserved]):
            if row[OWNER]["S"] != tenant:
                raise WriteKeyTakenError(reserved[row[DOCUMENT]["S"]])
        return versions

    def _next(
        self, tenant: str, changes: Sequence[Change], by: str, at_ms: int, verify: Verify | None
    ) -> "_Next":
        if verify is None:
            there, at = self._at(tenant, tenant, [change.key for change in changes]), None
        else:
            rows = self._rows([row_key(CATALOGUES, tenant)])  # before the documents: whether they moved
            at = int(rows[0][VERSION]["N"]) if rows else 0
            there = {each.key: each for each in self.documents(tenant)}
        created = [each.key for each in changes if each.document is not None and each.key not in there]
        current = there | self._removed(tenant, created)
        versions = next_versions(tenant, changes, current, by=by, at_ms=at_ms)
        if verify is not None:
            after = documents_after(there.values(), versions)
            verify(current, after, versions)
            if self._limits is not None:  # counted of what was read, which the catalogue's version stands for
                self._limits.check(_live(there.values()), _live(after.values()))
        return _Next(versions, there, at)

    def remove(self, deletion: StoredDocument) -> None:
        """Take a deletion from its tenant's documents: later versions go on from it, and its history stays.

        Nothing if it is not the newest version any more. The catalogue's version stays.
        """
        try:
            self._client.transact_write_items(TransactItems=removed_rows(self._table, deletion))
        except (BotoCoreError, ClientError) as error:
            if not _raced(error):
                raise StoreError(f"table {self._table} cannot be written: {error}") from error

    def adopt(self, side: str, found: Sequence[StoredDocument]) -> None:
        """Take in the documents that a side published before there was a table, at their versions.

        Documents that customers wrote to the table stay, and the newest adopted version wins. So several
        sides may adopt in any order, and more than once.
        """
        for each in found:
            self._until_alone(partial(self._adopt, each))
        try:
            self._client.put_item(TableName=self._table, Item=row_key(ADOPTIONS, side))
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be written: {error}") from error

    def renew_side(self, side: str, at_ms: int) -> None:
        """Note that a provisioner of a side is at work, at a time in epoch milliseconds."""
        try:
            self._client.update_item(
                TableName=self._table,
                Key=row_key(ADOPTIONS, side),
                UpdateExpression=f"SET {SEEN} = :at",
                ExpressionAttributeValues={":at": {"N": str(at_ms)}},
            )
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be written: {error}") from error

    def _adopt(self, each: StoredDocument) -> bool | None:
        there = self.get(each.tenant, each.key)
        if there is not None and (there.by != each.by or there.version >= each.version):
            return True
        try:
            added = self._transact(each.tenant, [each], {each.key: there} if there else {})
        except WriteKeyTakenError:
            _log.warning(
                "not adopted: another tenant has one of its write keys",
                extra={"tenant": each.tenant, "document": str(each.key)},
            )
            return True
        return True if added else None

    def _until_alone(self, attempt: Callable[[], T | None]) -> T:
        """An attempt's result; one that gives None is repeated, as another write came in between."""
        for turn in range(_TRIES):
            found = attempt()
            if found is not None:
                return found
            self._pause(self._uniform(0, min(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2**turn)))
        raise StoreError(f"table {self._table}: other writes came in between at each of {_TRIES} tries")

    def _transact(
        self,
        tenant: str,
        versions: Sequence[StoredDocument],
        there: Stored,
        *,
        at: int | None = None,
    ) -> bool:
        """Whether the versions were added; False if another write came in between.

        `there` are the tenant's documents, or some of them; `at` is as in counted_row.

        Raises:
            WriteKeyTakenError: if a write key is another tenant's.
            TooManyChangesError: if the versions do not fit into one transaction.
        """
        keys = reserved_keys(versions, there)
        _check_items(versions, len(keys))
        before = {key: each.version for key, each in there.items()}
        items = [
            item for each in versions for item in added_rows(self._table, each, after=before.get(each.key, 0))
        ]
        items.append(counted_row(self._table, tenant, len(versions), at))
        reserved = [reserved_row(self._table, tenant, key) for key in keys]
        try:
            self._client.transact_write_items(TransactItems=[*reserved, *items])
        except (BotoCoreError, ClientError) as error:
            refused = zip(keys.values(), cancellations(error), strict=False)
            taken = next((key for key, reason in refused if reason == CONDITION_FAILED), None)
            if taken is not None:
                raise WriteKeyTakenError(taken) from error
            if _raced(error):
                return False
            raise StoreError(f"table {self._table} cannot be written: {error}") from error
        return True


class _Next(Struct, frozen=True):
    """The versions that a write adds, and the state that it expects."""

    versions: list[StoredDocument]
    documents: Stored
    """The tenant's stored documents."""

    at: int | None
    """The catalogue's version that it was verified at; None if it was not."""

    def replaced(self, part: Iterable[StoredDocument]) -> list[StoredDocument]:
        """The documents that some of the versions take the place of."""
        return [self.documents[each.key] for each in part if each.key in self.documents]


def _live(found: Iterable[StoredDocument]) -> list[Document]:
    return [each.document for each in found if each.document is not None]


def _check_distinct(changes: Sequence[Change]) -> None:
    twice = [key for key, count in Counter(change.key for change in changes).items() if count > 1]
    if twice:
        raise ValueError(f"{twice[0]} is given twice; a write changes each document once")


def _check_items(versions: Sequence[StoredDocument], keys: int) -> None:
    items = 2 * len(versions) + keys + 1
    if items > MOST_ITEMS:
        raise TooManyChangesError(
            f"a write takes at most {MOST_ITEMS} items, not {items}: two a document, and one a new write key"
        )


def _raced(error: Exception) -> bool:
    """Whether a transaction failed because of another one, so that it is worth another try."""
    return conflicts(error) or CONDITION_FAILED in cancellations(error)
