"""Reads of the table `documents`: every version of what customers want. See document_items."""

from collections.abc import Iterator, Mapping, Sequence
from itertools import islice
from typing import Any, Final, TypeVar

from shared.contracts.document_items import (
    ADOPTIONS,
    CATALOGUES,
    DocumentKey,
    DocumentVersion,
    EncodedVersion,
    StoredDocument,
    VersionSummary,
    deleted_partition,
    history_key,
    history_partition,
)
from shared.dynamodb.client import dynamodb_client
from shared.dynamodb.document_rows import (
    DOCUMENT,
    SEEN,
    TENANT,
    VERSION,
    encoded,
    is_deletion,
    row_key,
    stored,
    summary,
)
from shared.dynamodb.reading import queried, rows_of

V = TypeVar("V", bound=DocumentVersion)
PAGE_BYTES: Final = 4 * 1024 * 1024
"""Most bytes of the documents of a page, unless it has only one."""


class DocumentReader:
    """Every method may be called from any thread, and raises StoreError if the table cannot be used."""

    def __init__(self, table: str, endpoint: str | None = None) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table = table

    def catalogues(self) -> Mapping[str, int]:
        """The version of each tenant's catalogue: how many versions of documents it holds."""
        rows = self._query(CATALOGUES, only=f"{DOCUMENT}, {VERSION}")
        return {row[DOCUMENT]["S"]: int(row[VERSION]["N"]) for row in rows}

    def documents(self, tenant: str) -> list[StoredDocument]:
        """The newest version of each document, in order of kind and name; deletions of the last day, too."""
        return [stored(tenant, row) for row in self._query(tenant)]

    def live(self, tenant: str, kind: str, after: str | None = None) -> Iterator[StoredDocument]:
        """Documents of a kind that are there, in order of name, one by one: a tenant's may be large together.

        Args:
            tenant: the owner of the documents.
            kind: one of KINDS.
            after: the name to begin after; None begins with the first.
        """
        rows = self._live_rows(tenant, kind, after, None)
        return (stored(tenant, row) for row in rows)

    def get(self, tenant: str, key: DocumentKey) -> StoredDocument | None:
        """The newest version of a document, perhaps its deletion; None if there never was one."""
        return self.current(tenant, [key]).get(key)

    def current(self, tenant: str, keys: Sequence[DocumentKey]) -> dict[DocumentKey, StoredDocument]:
        """The newest versions, perhaps deletions, of documents; without those that never were.

        Keys need not be checked: keys that mean the same row, such as `a/b` and `c`, and `a` and `b/c`, are
        read once, because the table refuses a request that names a row twice.
        """
        found = self._at(tenant, tenant, keys)
        return found | self._removed(tenant, [key for key in keys if key not in found])

    def _removed(self, tenant: str, keys: Sequence[DocumentKey]) -> dict[DocumentKey, StoredDocument]:
        """Deletions of documents that are not among the tenant's any more."""
        return self._at(tenant, deleted_partition(tenant), keys)

    def _at(
        self, tenant: str, partition: str, keys: Sequence[DocumentKey]
    ) -> dict[DocumentKey, StoredDocument]:
        rows = self._rows([row_key(partition, sort) for sort in dict.fromkeys(map(str, keys))])
        return {each.key: each for each in (stored(tenant, row) for row in rows)}

    def history(self, tenant: str, key: DocumentKey) -> list[StoredDocument]:
        """Every version of a document, newest first."""
        partition = history_partition(tenant)
        rows = self._query(partition, f"{key}/", forward=False)
        return [stored(tenant, row, key) for row in rows]

    def page(
        self, tenant: str, kind: str, after: str | None, limit: int
    ) -> tuple[list[EncodedVersion], str | None]:
        """Documents of a kind in order of name, and the name to go on after, if there are more.

        Args:
            tenant: the owner of the documents.
            kind: one of KINDS.
            after: the name that the former page ended with; None begins.
            limit: most documents to give; fewer if they have more than PAGE_BYTES.
        """
        rows = self._live_rows(tenant, kind, after, limit)
        found, last = _bounded((encoded(tenant, row) for row in rows), limit)
        return found, None if last is None else last.key.name

    def summaries(
        self, tenant: str, kind: str, after: str | None, limit: int
    ) -> tuple[list[VersionSummary], str | None]:
        """A page as `page` gives it, without the documents and so not bounded by PAGE_BYTES."""
        rows = self._live_rows(tenant, kind, after, limit)
        found, last = _cut((summary(tenant, row) for row in rows), limit)
        return found, None if last is None else last.key.name

    def page_of_all(
        self, tenant: str, after: str | None, limit: int
    ) -> tuple[list[EncodedVersion], str | None]:
        """Documents of every kind, with deletions as `documents` has them, and where to go on; as `page`."""
        rows = self._query(tenant, after=after, page=limit + 1)
        found, last = _bounded((encoded(tenant, row) for row in rows), limit)
        return found, None if last is None else str(last.key)

    def history_page(
        self, tenant: str, key: DocumentKey, before: int | None, limit: int
    ) -> tuple[list[EncodedVersion], int | None]:
        """Versions of a document, newest first, and the version to go on before; bounded as `page` is."""
        rows = self._history_rows(tenant, key, before, limit)
        found, last = _bounded((encoded(tenant, row, key) for row in rows), limit)
        return found, None if last is None else last.version

    def version_before(self, tenant: str, key: DocumentKey, before: int) -> StoredDocument | None:
        """The newest of the versions of a document below one; None if there is none."""
        row = next(self._history_rows(tenant, key, before, 1), None)
        return None if row is None else stored(tenant, row, key)

    def history_summaries(
        self, tenant: str, key: DocumentKey, before: int | None, limit: int
    ) -> tuple[list[VersionSummary], int | None]:
        """A page as `history_page` gives it, without the documents and so not bounded by PAGE_BYTES."""
        rows = self._history_rows(tenant, key, before, limit)
        found, last = _cut((summary(tenant, row, key) for row in rows), limit)
        return found, None if last is None else last.version

    def is_adopted(self, side: str) -> bool:
        """Whether `adopt` was finished for a side once."""
        return any(row[DOCUMENT]["S"] == side for row in self._query(ADOPTIONS, side))

    def sides(self) -> dict[str, int | None]:
        """The adopted sides, with when a provisioner was at work last, epoch ms; None: it does not say."""
        rows = self._query(ADOPTIONS)
        return {row[DOCUMENT]["S"]: int(row[SEEN]["N"]) if SEEN in row else None for row in rows}

    def _live_rows(
        self, tenant: str, kind: str, after: str | None, limit: int | None
    ) -> Iterator[dict[str, Any]]:
        start = None if after is None else f"{kind}/{after}"
        rows = self._query(tenant, f"{kind}/", after=start, page=None if limit is None else limit + 1)
        return (row for row in rows if not is_deletion(row))

    def _history_rows(
        self, tenant: str, key: DocumentKey, before: int | None, limit: int
    ) -> Iterator[dict[str, Any]]:
        start = None if before is None else history_key(key, before)
        return self._query(history_partition(tenant), f"{key}/", forward=False, after=start, page=limit + 1)

    def _rows(self, wanted: list[dict[str, Any]]) -> list[dict[str, Any]]:
        """Those of the rows that are there."""
        return rows_of(self._client, self._table, wanted)

    def _query(  # noqa: PLR0913  # which rows, in which order, and how much of them
        self,
        partition: str,
        prefix: str = "",
        *,
        forward: bool = True,
        after: str | None = None,
        page: int | None = None,
        only: str | None = None,
    ) -> Iterator[dict[str, Any]]:
        values = {":p": {"S": partition}} | ({":d": {"S": prefix}} if prefix else {})
        condition = f"{TENANT} = :p" + (f" AND begins_with({DOCUMENT}, :d)" if prefix else "")
        asked: dict[str, Any] = {
            "KeyConditionExpression": condition,
            "ExpressionAttributeValues": values,
            "ScanIndexForward": forward,
        }
        asked |= {"ExclusiveStartKey": row_key(partition, after)} if after is not None else {}
        asked |= {"Limit": page} if page is not None else {}
        asked |= {"ProjectionExpression": only} if only is not None else {}
        return queried(self._client, self._table, **asked)


def _bounded(
    versions: Iterator[EncodedVersion], limit: int
) -> tuple[list[EncodedVersion], EncodedVersion | None]:
    """The versions that `_cut` gives, or fewer if they have more than PAGE_BYTES, but one at least."""
    found: list[EncodedVersion] = []
    size = 0
    for each in versions:
        size += 0 if each.document is None else len(each.document)
        if found and (len(found) == limit or size > PAGE_BYTES):
            return found, found[-1]
        found.append(each)
    return found, None


def _cut(versions: Iterator[V], limit: int) -> tuple[list[V], V | None]:
    """The first `limit`, and the last of them if there are more."""
    found = list(islice(versions, limit + 1))
    return found[:limit], found[limit - 1] if len(found) > limit else None
