"""Small items beside the documents, in the same table: tokens, labels of keys, the audit log."""

from collections.abc import Collection, Iterator, Mapping, Sequence
from typing import Any, Final, Generic, TypeVar

import msgspec
from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import (
    CONDITION_FAILED,
    StoreError,
    cancellations,
    conflicts,
    dynamodb_client,
    error_code,
)
from shared.dynamodb.document_rows import DOCUMENT, TENANT, row_key
from shared.dynamodb.reading import queried, rows_of

T = TypeVar("T")
_ITEM: Final = "item"
_PAGE: Final = 1_000
_REVISION: Final = "revision"
_CONFLICT: Final = "ConditionalCheckFailedException"


class ItemStore(Generic[T]):
    """Items of one type. Every method may be called from any thread and raises StoreError."""

    def __init__(self, table: str, endpoint: str | None, kind: type[T]) -> None:
        """`endpoint` is the URL of DynamoDB Local; None is AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table = table
        self._decoder = msgspec.json.Decoder(kind)

    def get(self, partition: str, sort: str) -> T | None:
        """An item as it is now."""
        answer = self._call("get_item", Key=row_key(partition, sort), ConsistentRead=True)
        return self._read(answer["Item"]) if "Item" in answer else None

    def those(self, partition: str, sorts: Collection[str]) -> list[tuple[str, T]]:
        """The items of different sort keys, with their keys; without those that are not there."""
        rows = rows_of(self._client, self._table, [row_key(partition, sort) for sort in sorts])
        return [(row[DOCUMENT]["S"], self._read(row)) for row in rows]

    def put(self, partition: str, sort: str, item: T) -> None:
        """Write an item over what is there."""
        row = row_key(partition, sort) | {_ITEM: {"S": msgspec.json.encode(item).decode()}}
        self._call("put_item", Item=row)

    def put_after(self, partition: str, sort: str, item: T, revision: int) -> bool:
        """Write an item as the one after a revision, 0 if there is none; False if it is at another one.

        True also if the very item is there: when an answer is lost, the client sends the request again, which
        is then refused because of itself.
        """
        asked = self.revised(partition, sort, item, revision)["Put"]
        del asked["TableName"]
        return self._taken("put_item", **asked) or self._is_there(asked["Item"])

    def _is_there(self, row: Mapping[str, Any]) -> bool:
        key = row_key(row[TENANT]["S"], row[DOCUMENT]["S"])
        answer = self._call("get_item", Key=key, ConsistentRead=True)
        return bool(answer.get("Item") == row)

    def revised(self, partition: str, sort: str, item: T, revision: int) -> dict[str, Any]:
        """The write of `put_after`, as an item of a transaction."""
        condition: dict[str, Any] = {"ConditionExpression": f"attribute_not_exists({_REVISION})"}
        if revision:
            values = {":r": {"N": str(revision)}}
            condition = {"ConditionExpression": f"{_REVISION} = :r", "ExpressionAttributeValues": values}
        found = self.written(partition, sort, item)
        found["Put"]["Item"][_REVISION] = {"N": str(revision + 1)}
        found["Put"] |= condition
        return found

    def written(self, partition: str, sort: str, item: T) -> dict[str, Any]:
        """The write of `put`, as an item of a transaction."""
        row = row_key(partition, sort) | {_ITEM: {"S": msgspec.json.encode(item).decode()}}
        return {"Put": {"TableName": self._table, "Item": row}}

    def delete(self, partition: str, sort: str) -> None:
        """Delete an item; nothing if it is not there."""
        self._call("delete_item", Key=row_key(partition, sort))

    def delete_after(self, partition: str, sort: str, revision: int) -> bool:
        """Delete an item at a revision, 0 if `put` wrote it; False if it is at another one.

        True also if it is not there, as after a request that lost its answer.
        """
        condition: dict[str, Any] = {"ConditionExpression": f"attribute_not_exists({_REVISION})"}
        if revision:
            condition = {
                "ConditionExpression": f"attribute_not_exists({TENANT}) OR {_REVISION} = :r",
                "ExpressionAttributeValues": {":r": {"N": str(revision)}},
            }
        return self._taken("delete_item", Key=row_key(partition, sort), **condition)

    def removed(self, partition: str, sort: str, *, there: bool = False) -> dict[str, Any]:
        """The deletion of `delete`, as an item of a transaction; with `there` it fails on a missing item."""
        condition = {"ConditionExpression": f"attribute_exists({TENANT})"} if there else {}
        return {"Delete": {"TableName": self._table, "Key": row_key(partition, sort), **condition}}

    def transact(self, parts: Sequence[Mapping[str, Any]]) -> bool:
        """Do all parts, of any stores of the table, or none; False if a condition fails or it was raced."""
        try:
            self._client.transact_write_items(TransactItems=list(parts))
        except (BotoCoreError, ClientError) as error:
            if conflicts(error) or CONDITION_FAILED in cancellations(error):
                return False
            raise StoreError(f"table {self._table} cannot be written: {error}") from error
        return True

    def page(
        self, partition: str, after: str | None, limit: int, *, prefix: str = "", forward: bool = True
    ) -> tuple[list[tuple[str, T]], str | None]:
        """Items with their sort keys, and the sort key to go on after, if there are more."""
        rows, following = self._page(partition, after, limit, prefix, forward=forward)
        return [(row[DOCUMENT]["S"], self._read(row)) for row in rows], following

    def _page(
        self, partition: str, after: str | None, limit: int, prefix: str, *, forward: bool
    ) -> tuple[list[Mapping[str, Any]], str | None]:
        values = {":p": {"S": partition}} | ({":d": {"S": prefix}} if prefix else {})
        condition = f"{TENANT} = :p" + (f" AND begins_with({DOCUMENT}, :d)" if prefix else "")
        start = {} if after is None else {"ExclusiveStartKey": row_key(partition, after)}
        answer = self._call(
            "query",
            ConsistentRead=True,
            KeyConditionExpression=condition,
            ExpressionAttributeValues=values,
            ScanIndexForward=forward,
            Limit=limit,
            **start,
        )
        rows: list[Mapping[str, Any]] = answer["Items"]
        return rows, rows[-1][DOCUMENT]["S"] if "LastEvaluatedKey" in answer and rows else None

    def between(self, partition: str, first: str, last: str) -> list[tuple[str, T]]:
        """Items of a partition with sort keys from `first` to `last`, both included."""
        values = {":p": {"S": partition}, ":a": {"S": first}, ":b": {"S": last}}
        rows = queried(
            self._client,
            self._table,
            KeyConditionExpression=f"{TENANT} = :p AND {DOCUMENT} BETWEEN :a AND :b",
            ExpressionAttributeValues=values,
        )
        return [(row[DOCUMENT]["S"], self._read(row)) for row in rows]

    def all(self, partition: str, prefix: str = "") -> list[tuple[str, T]]:
        """Every item of a partition with its sort key."""
        return [(row[DOCUMENT]["S"], self._read(row)) for row in self._rows(partition, prefix)]

    def revisions(self, partition: str) -> list[tuple[str, T | None, int]]:
        """Every item of a partition with its sort key and its revision, 0 if `put` wrote it.

        None is an item that this version cannot read: it may be written over, by one who owns it.
        """
        found: list[tuple[str, T | None, int]] = []
        for row in self._rows(partition, ""):
            try:
                item = self._read(row)
            except (KeyError, ValueError):
                item = None
            found.append((row[DOCUMENT]["S"], item, int(row.get(_REVISION, {"N": "0"})["N"])))
        return found

    def readable(self, partition: str) -> tuple[list[tuple[str, T]], list[str]]:
        """Items of a partition with their sort keys, and the sort keys of unreadable ones.

        A newer version may have written them. For what only shows items; who decides on them uses `all`.
        """
        found: list[tuple[str, T]] = []
        unreadable: list[str] = []
        for row in self._rows(partition):
            try:
                found.append((row[DOCUMENT]["S"], self._read(row)))
            except (KeyError, ValueError):
                unreadable.append(row[DOCUMENT]["S"])
        return found, unreadable

    def _rows(self, partition: str, prefix: str = "") -> Iterator[Mapping[str, Any]]:
        rows, after = self._page(partition, None, _PAGE, prefix, forward=True)
        yield from rows
        while after is not None:
            rows, after = self._page(partition, after, _PAGE, prefix, forward=True)
            yield from rows

    def _read(self, row: Mapping[str, Any]) -> T:
        return self._decoder.decode(row[_ITEM]["S"])

    def _taken(self, operation: str, **asked: Any) -> bool:
        """Whether the condition of a write held."""
        try:
            self._call(operation, **asked)
        except StoreError as error:
            if isinstance(error.__cause__, ClientError) and error_code(error.__cause__) == _CONFLICT:
                return False
            raise
        return True

    def _call(self, operation: str, **asked: Any) -> Any:
        try:
            return getattr(self._client, operation)(TableName=self._table, **asked)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be used: {error}") from error
