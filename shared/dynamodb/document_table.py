"""The table `documents`: what customers want, every version of it. See shared.contracts.document_items."""

import random
import time
from collections.abc import Callable, Iterator, Mapping, Sequence
from functools import partial
from typing import Any, Final, TypeVar

from botocore.exceptions import BotoCoreError, ClientError

from shared.contracts.document_items import (
    ADOPTIONS,
    CATALOGUES,
    MOST_CHANGES,
    Change,
    DocumentKey,
    StoredDocument,
    history_partition,
    next_versions,
)
from shared.dynamodb.client import StoreError, create_table, dynamodb_client, error_code
from shared.dynamodb.document_rows import DOCUMENT, TENANT, VERSION, added_rows, counted_row, row_key, stored

T = TypeVar("T")
_READ: Final = 100
"""Most items that one BatchGetItem takes."""

_TRIES: Final = 12
_PAUSE_SECONDS: Final = 0.02
_LONGEST_PAUSE_SECONDS: Final = 0.5


class DocumentTable:
    """Every method may be called from any thread, and raises StoreError if the table cannot be used."""

    def __init__(
        self,
        table: str,
        endpoint: str | None = None,
        *,
        pause: Callable[[float], None] = time.sleep,
        uniform: Callable[[float, float], float] = random.uniform,
    ) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS. `pause` and `uniform` space out retries."""
        self._client: Any = dynamodb_client(endpoint)
        self._table, self._makes_table = table, endpoint is not None
        self._pause, self._uniform = pause, uniform

    def ensure(self) -> None:
        """Make the table if the endpoint is local; on AWS it is the stacks' to make."""
        if self._makes_table:
            try:
                create_table(self._client, self._table, TENANT, DOCUMENT)
            except (BotoCoreError, ClientError) as error:
                raise StoreError(f"table {self._table} cannot be made: {error}") from error

    def catalogues(self) -> Mapping[str, int]:
        """The version of each tenant's catalogue: how many versions of documents it holds."""
        return {row[DOCUMENT]["S"]: int(row[VERSION]["N"]) for row in self._query(CATALOGUES)}

    def documents(self, tenant: str) -> list[StoredDocument]:
        """The newest version of each document, deletions included, in order of kind and name."""
        return [stored(tenant, row) for row in self._query(tenant)]

    def get(self, tenant: str, key: DocumentKey) -> StoredDocument | None:
        """The newest version of a document, perhaps its deletion; None if there never was one."""
        return self._current(tenant, [key]).get(key)

    def history(self, tenant: str, key: DocumentKey) -> list[StoredDocument]:
        """Every version of a document, newest first."""
        partition = history_partition(tenant)
        rows = self._query(partition, f"{key}/", forward=False)
        return [stored(tenant, row, key) for row in rows]

    def write(self, tenant: str, changes: Sequence[Change], *, by: str, at_ms: int) -> list[StoredDocument]:
        """Make all of the changes, or none; gives the versions that were added.

        Args:
            tenant: whose documents they are.
            changes: of different documents; at most MOST_CHANGES.
            by: who writes.
            at_ms: now, epoch milliseconds.

        Raises:
            VersionConflictError: if a document is at another version than its writer expected.
            ValueError: if there are too many changes, or two of one document.
        """
        keys = [change.key for change in changes]
        if len(set(keys)) != len(keys):
            raise ValueError("a write changes each document once")
        if len(changes) > MOST_CHANGES:
            raise ValueError(f"a write changes at most {MOST_CHANGES} documents, not {len(changes)}")

        def attempt() -> list[StoredDocument] | None:
            current = self._current(tenant, keys)
            versions = next_versions(tenant, changes, current, by=by, at_ms=at_ms)
            return versions if not versions or self._transact(tenant, versions) else None

        return self._until_alone(attempt)

    def is_adopted(self, side: str) -> bool:
        """Whether `adopt` was finished for a side once."""
        return any(row[DOCUMENT]["S"] == side for row in self._query(ADOPTIONS, side))

    def adopt(self, side: str, found: Sequence[StoredDocument]) -> None:
        """Take in the documents that a side published before there was a table, at their versions.

        Those that customers wrote to the table stay as they are, and of those adopted the newest version is
        kept, so that several sides may do it, in any order, and each twice.
        """
        for each in found:
            self._until_alone(partial(self._adopt, each))
        try:
            self._client.put_item(TableName=self._table, Item=row_key(ADOPTIONS, side))
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be written: {error}") from error

    def _adopt(self, each: StoredDocument) -> bool | None:
        there = self.get(each.tenant, each.key)
        if there is not None and (there.by != each.by or there.version >= each.version):
            return True
        return True if self._transact(each.tenant, [each], after=there.version if there else 0) else None

    def _until_alone(self, attempt: Callable[[], T | None]) -> T:
        """What an attempt gives; None says that another write came in between."""
        for turn in range(_TRIES):
            found = attempt()
            if found is not None:
                return found
            self._pause(self._uniform(0, min(_LONGEST_PAUSE_SECONDS, _PAUSE_SECONDS * 2**turn)))
        raise StoreError(f"table {self._table}: other writes came in between at each of {_TRIES} tries")

    def _transact(self, tenant: str, versions: Sequence[StoredDocument], after: int | None = None) -> bool:
        """Whether the versions were added; False if somebody else wrote meanwhile."""
        items = [
            item
            for each in versions
            for item in added_rows(self._table, each, after=each.version - 1 if after is None else after)
        ]
        items.append(counted_row(self._table, tenant, len(versions)))
        try:
            self._client.transact_write_items(TransactItems=items)
        except (BotoCoreError, ClientError) as error:
            if _raced(error):
                return False
            raise StoreError(f"table {self._table} cannot be written: {error}") from error
        return True

    def _current(self, tenant: str, keys: Sequence[DocumentKey]) -> dict[DocumentKey, StoredDocument]:
        wanted = [row_key(tenant, str(key)) for key in keys]
        rows: list[dict[str, Any]] = []
        try:
            for _ in range(_TRIES):
                if not wanted:
                    break
                request = {self._table: {"Keys": wanted[:_READ], "ConsistentRead": True}}
                answer = self._client.batch_get_item(RequestItems=request)
                rows += answer["Responses"].get(self._table, [])
                left = answer.get("UnprocessedKeys", {}).get(self._table, {}).get("Keys", [])
                wanted = [*left, *wanted[_READ:]]
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error
        if wanted:
            raise StoreError(f"table {self._table} leaves {len(wanted)} items unread: it is throttled")
        return {each.key: each for each in (stored(tenant, row) for row in rows)}

    def _query(self, partition: str, prefix: str = "", *, forward: bool = True) -> Iterator[dict[str, Any]]:
        values = {":p": {"S": partition}} | ({":d": {"S": prefix}} if prefix else {})
        condition = f"{TENANT} = :p" + (f" AND begins_with({DOCUMENT}, :d)" if prefix else "")
        asked = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": forward,
        }
        try:
            for page in self._client.get_paginator("query").paginate(**asked):
                yield from page["Items"]
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error


def _raced(error: Exception) -> bool:
    """Whether a transaction failed because of another one, so that it is worth another try."""
    if error_code(error) == "TransactionInProgressException":
        return True
    if error_code(error) != "TransactionCanceledException" or not isinstance(error, ClientError):
        return False
    reasons = {reason.get("Code") for reason in error.response.get("CancellationReasons", [])}
    return bool(reasons & {"ConditionalCheckFailed", "TransactionConflict"})
