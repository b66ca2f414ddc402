"""What has to survive a restart: a DynamoDB table of bodies by (pk, sk), no more."""

import time
from collections.abc import Iterable, Iterator
from typing import Any, Final, NamedTuple
from uuid import uuid4

from botocore.exceptions import BotoCoreError, ClientError

from shared.dynamodb.client import StoreError, create_table, dynamodb_client

PK: Final = "pk"
SK: Final = "sk"
BODY: Final = "body"
EXPIRES: Final = "expires"
"""Epoch seconds; DynamoDB deletes the item some time after. The table's TTL attribute."""

PART_BYTES: Final = 350_000
"""A longer body takes several items: DynamoDB's are at most 400 KB."""

_PARTS: Final = "parts"
_BATCH: Final = 25
"""Most items that one BatchWriteItem takes."""

_PART_SECONDS: Final = 30 * 86_400
"""Parts that were written anew are left to expire."""

_TRIES: Final = 8
_PAUSE_SECONDS: Final = 0.05


class Item(NamedTuple):
    """A body of any length."""

    pk: str
    sk: str
    body: bytes
    expires_s: int | None = None
    """When it may be deleted, epoch seconds; None: never."""


class Store:
    """A table. Every method may be called from any thread.

    Region and credentials come from the environment, as boto3 takes them. Each raises StoreError where the
    table cannot be used.
    """

    def __init__(self, table: str, endpoint: str | None = None) -> None:
        """`endpoint` is the URL of DynamoDB Local, which takes any credentials; None is AWS."""
        self._client: Any = dynamodb_client(endpoint)
        self._table = table
        self._makes_table = endpoint is not None

    def ensure(self) -> None:
        """Make the table where the endpoint is local; on AWS it is the stacks' to make."""
        if not self._makes_table:
            return
        try:
            create_table(self._client, self._table, PK, SK)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be made: {error}") from error

    def get(self, pk: str, sk: str) -> bytes | None:
        """An item's body; None if there is none."""
        row = self._row(pk, sk)
        return None if row is None else self._item(row).body

    def _row(self, pk: str, sk: str) -> dict[str, Any] | None:
        key = {PK: {"S": pk}, SK: {"S": sk}}
        try:
            answer = self._client.get_item(TableName=self._table, Key=key, ConsistentRead=True)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error
        found: dict[str, Any] | None = answer.get("Item")
        return found

    def query(self, pk: str, first: str = "", last: str = "\U0010ffff") -> Iterator[Item]:
        """The items of a pk whose sk lies between `first` and `last`, both included, in order of sk."""
        asked = {
            "TableName": self._table,
            "ConsistentRead": True,
            "KeyConditionExpression": f"{PK} = :pk AND {SK} BETWEEN :first AND :last",
            "ExpressionAttributeValues": {
                ":pk": {"S": pk},
                ":first": {"S": first or "\x00"},
                ":last": {"S": last},
            },
        }
        try:
            for page in self._client.get_paginator("query").paginate(**asked):
                for row in page["Items"]:
                    yield self._item(row)
        except (BotoCoreError, ClientError) as error:
            raise StoreError(f"table {self._table} cannot be read: {error}") from error

    def put(self, items: Iterable[Item]) -> None:
        """Write all of them, in place of what is there by the same keys; no order is kept among them."""
        rows: list[dict[str, Any]] = []
        for item in {(item.pk, item.sk): item for item in items}.values():
            parts = _parts(item)
            self._put_rows([_row(part) for part in parts])
            rows.append(_row(item) if not parts else _head(item, parts))
        self._put_rows(rows)

    def _put_rows(self, rows: list[dict[str, Any]]) -> None:
        for at in range(0, len(rows), _BATCH):
            self._write([{"PutRequest": {"Item": row}} for row in rows[at : at + _BATCH]])

    def _item(self, row: dict[str, Any]) -> Item:
        """The whole of a row whose body may lie in others."""
        body, expires = bytes(row[BODY]["B"]), row.get(EXPIRES)
        pk, sk = row[PK]["S"], row[SK]["S"]
        if _PARTS in row:
            parts = (self._row(_parts_of(pk), name) for name in row[_PARTS]["S"].split("\n"))
            body = b"".join(bytes(part[BODY]["B"]) for part in parts if part)
        return Item(pk, sk, body, int(expires["N"]) if expires else None)

    def delete(self, pk: str, sk: str) -> None:
        """Remove an item; nothing where there is none."""
        self.delete_all([(pk, sk)])

    def delete_all(self, keys: Iterable[tuple[str, str]]) -> None:
        """Remove items by (pk, sk)."""
        rows = [{PK: {"S": pk}, SK: {"S": sk}} for pk, sk in keys]
        for at in range(0, len(rows), _BATCH):
            self._write([{"DeleteRequest": {"Key": row}} for row in rows[at : at + _BATCH]])

    def _write(self, requests: list[dict[str, Any]]) -> None:
        for turn in range(_TRIES):
            try:
                answer = self._client.batch_write_item(RequestItems={self._table: requests})
            except (BotoCoreError, ClientError) as error:
                raise StoreError(f"table {self._table} cannot be written: {error}") from error
            requests = answer.get("UnprocessedItems", {}).get(self._table, [])
            if not requests:
                return
            time.sleep(_PAUSE_SECONDS * 2**turn)
        raise StoreError(f"table {self._table} leaves {len(requests)} items unwritten: it is throttled")


def _row(item: Item) -> dict[str, Any]:
    row: dict[str, Any] = {PK: {"S": item.pk}, SK: {"S": item.sk}, BODY: {"B": item.body}}
    return row if item.expires_s is None else row | {EXPIRES: {"N": str(item.expires_s)}}


def _parts(item: Item) -> list[Item]:
    """The pieces of a long body, under new names: the former body stays whole until the head is new."""
    if len(item.body) <= PART_BYTES:
        return []
    name, expires = f"{item.sk}/{uuid4().hex}", item.expires_s or int(time.time()) + _PART_SECONDS
    return [
        Item(_parts_of(item.pk), f"{name}/{at}", item.body[at : at + PART_BYTES], expires)
        for at in range(0, len(item.body), PART_BYTES)
    ]


def _head(item: Item, parts: list[Item]) -> dict[str, Any]:
    return _row(item._replace(body=b"")) | {_PARTS: {"S": "\n".join(part.sk for part in parts)}}


def _parts_of(pk: str) -> str:
    return f"{pk}#parts"
